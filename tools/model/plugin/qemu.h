/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of QEMU's plugin interface that the cache model uses, declared
 * here because Debian 12 ships no header for it. PLUGIN_API, given by the
 * build, is the version asked for: 1 up to QEMU 8, 2 for 9.0, 3 from 9.1 on.
 * See "QEMU TCG Plugins" in QEMU's documentation for what the calls do.
 */
#ifndef CACHEMODEL_QEMU_H
#define CACHEMODEL_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef PLUGIN_API
#error "PLUGIN_API is not set"
#endif

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

struct qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
};

enum { CB_NO_REGS = 0 };
enum { MEM_LOAD_STORE = 3 };

typedef void (*exec_fn)(unsigned int cpu, void *data);
typedef void (*mem_fn)(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data);
typedef void (*trans_fn)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*exit_fn)(uint64_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, trans_fn fn);
void qemu_plugin_register_atexit_cb(uint64_t id, exit_fn fn, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, exec_fn fn, int flags,
					    void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_fn fn, int flags, int rw,
				      void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
#if PLUGIN_API < 3
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
#endif

unsigned int qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *haddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *haddr);

#endif
