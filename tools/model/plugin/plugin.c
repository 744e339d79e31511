// SPDX-License-Identifier: GPL-2.0
/*
 * The cache model as a QEMU TCG plugin: sees every access of the guest, finds
 * the tags of tags.h and the non-temporal stores as code is translated, and
 * writes what was counted when QEMU ends. Needs single-threaded TCG.
 *
 * Arguments, all NAME=VALUE; sizes in bytes, with K or M:
 *   out=FILE		where the counts go, JSON
 *   l1d=, l2=, llc=	SIZE:WAYS, WAYS a number or "full"
 *   range=LABEL:START:END	(hexadecimal) LABEL counts these instructions,
 *			while another label is begun
 *   unit=ADDRESS	(hexadecimal) a unit of work is one execution of it
 *   instructions=1	count all instructions, a rep once for each time
 *   data=START:END	(hexadecimal, physical) count the accesses to each word
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "../tags.h"
#include "model.h"
#include "qemu.h"

EXPORT int qemu_plugin_version = PLUGIN_API;
EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

static struct cpu {
	uint64_t labels;	/* begun on this CPU */
	uint64_t told_at;	/* the instruction that tells an address, or 0 */
	uint8_t op, kind;
} cpus[MAX_CPUS];

static uint64_t labels_all;	/* begun on all CPUs */
static struct machine machine = MACHINE_DEFAULT;
static struct counter counter;
static pthread_t cpu_thread;	/* the only one that may execute the guest */
static bool cpu_thread_known;
static uint64_t unit_address;
static bool count_instructions;
static FILE *out;
static const char *out_name;

static void __attribute__((format(printf, 1, 2), noreturn)) give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "cachemodel: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	_exit(1);
}

static void one_access(unsigned int cpu, struct site *site, uint64_t address, uint64_t last,
		       enum access access)
{
	unsigned int missed = machine_access(&machine, cpu, address >> LINE_SHIFT, access);
	uint64_t mask = cpus[cpu].labels | labels_all;

	if (mask)
		mask |= site->ranges;
	counter_access(&counter, mask, site, address, last, access, missed, machine.writebacks);
	counter_data(&counter, mask, address, access, missed);
}

/* The address that a tag's next instruction has */
static void tell(struct cpu *cpu, uint64_t address)
{
	cpu->told_at = 0;
	if (cpu->op == CACHEMODEL_KIND)
		counter.kinds[address >> PAGE_SHIFT_4K] = cpu->kind;
	else if (cpu->op == CACHEMODEL_OBJECT ?
		 !counter_object(&counter, cpu->kind, address >> LINE_SHIFT) :
		 !counter_last(&counter, address >> LINE_SHIFT))
		give_up("an object of kind %d is too large, or one too many", cpu->kind);
}

static void on_access(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	enum access access = LOAD;
	struct site *site = data;
	uint64_t address, last, second;

	if (!hw || qemu_plugin_hwaddr_is_io(hw)) {
		counter.io++;
		return;
	}
	address = qemu_plugin_hwaddr_phys_addr(hw);
	last = address + (1u << qemu_plugin_mem_size_shift(info)) - 1;
	if (last >= RAM_LIMIT) {
		counter.beyond++;
		return;
	}
	if (cpus[cpu].told_at && cpus[cpu].told_at == site->vaddr) {
		tell(&cpus[cpu], address);
		return;
	}
	if (qemu_plugin_mem_is_store(info))
		access = site->nt ? STORE_NT : STORE;
	second = last & -(uint64_t)LINE_SIZE;
	if (address >= second) {
		one_access(cpu, site, address, last, access);
		return;
	}
	one_access(cpu, site, address, second - 1, access);
	/* QEMU gives one address: where the second page is nobody knows */
	if (address >> PAGE_SHIFT_4K == last >> PAGE_SHIFT_4K)
		one_access(cpu, site, second, last, access);
	else
		counter.crossing++;
}

/* data: the tag's op and argument and the address after it */
struct tag {
	uint8_t op, argument;
	uint64_t after;
};

static void on_tag(unsigned int cpu, void *data)
{
	const struct tag *tag = data;
	bool all = tag->op == CACHEMODEL_BEGIN_ALL || tag->op == CACHEMODEL_END_ALL;
	uint64_t *mask = all ? &labels_all : &cpus[cpu].labels, bit = 1ull << tag->argument;
	struct label *label;

	if (tag->op == CACHEMODEL_CLEAR) {
		machine_clear(&machine);
		return;
	}
	if (tag->op >= CACHEMODEL_KIND) {
		cpus[cpu].op = tag->op;
		cpus[cpu].kind = tag->argument;
		cpus[cpu].told_at = tag->after;
		return;
	}
	if (tag->op == CACHEMODEL_UNIT) {
		if ((*mask | labels_all) & bit)
			counter_label(&counter, tag->argument)->units++;
		return;
	}
	label = counter_label(&counter, tag->argument);
	if (tag->op == CACHEMODEL_BEGIN || tag->op == CACHEMODEL_BEGIN_ALL) {
		counter.begun = true;
		label->begun++;
		label->unbalanced += !!(*mask & bit);
		*mask |= bit;
	} else {
		label->ended++;
		label->unbalanced += !(*mask & bit);
		*mask &= ~bit;
	}
}

static void on_unit(unsigned int cpu, void *data)
{
	for (uint64_t mask = cpus[cpu].labels | labels_all; mask; mask &= mask - 1)
		counter_label(&counter, __builtin_ctzll(mask))->units++;
}

static void on_instruction(unsigned int cpu, void *data)
{
	for (uint64_t mask = cpus[cpu].labels | labels_all; mask; mask &= mask - 1)
		counter_label(&counter, __builtin_ctzll(mask))->instructions++;
}

static void translate_tag(struct qemu_plugin_insn *insn, const uint8_t *code, uint64_t vaddr)
{
	uint8_t op = code[5], argument = code[4];
	struct tag *tag;

	if (op > CACHEMODEL_LAST ||
	    argument >= (op >= CACHEMODEL_KIND ? KINDS : CACHEMODEL_LABELS))
		give_up("a tag that is none");
	tag = memory_new(1, sizeof(*tag));	/* stays: QEMU may use it to the end */
	*tag = (struct tag) { op, argument, vaddr + 8 };
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_tag, CB_NO_REGS, tag);
}

static void translate(struct qemu_plugin_insn *insn)
{
	uint64_t vaddr = qemu_plugin_insn_vaddr(insn);
	size_t size = qemu_plugin_insn_size(insn);
	uint8_t code[16];

	if (size > sizeof(code))
		size = sizeof(code);
#if PLUGIN_API < 3
	memcpy(code, qemu_plugin_insn_data(insn), size);
#else
	size = qemu_plugin_insn_data(insn, code, size);
#endif
	if (size == 8 && !memcmp(code, "\x0f\x1f\x84\x00", 4) &&
	    code[6] == (CACHEMODEL_MAGIC & 0xff) && code[7] == CACHEMODEL_MAGIC >> 8)
		translate_tag(insn, code, vaddr);
	if (unit_address && vaddr == unit_address)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_unit, CB_NO_REGS, NULL);
	if (count_instructions)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_instruction, CB_NO_REGS, NULL);
	qemu_plugin_register_vcpu_mem_cb(insn, on_access, CB_NO_REGS, MEM_LOAD_STORE,
		counter_site(&counter, vaddr, is_nt_store(code, size)));
}

static void on_translate(uint64_t id, struct qemu_plugin_tb *tb)
{
	if (!cpu_thread_known)
		cpu_thread = pthread_self();
	cpu_thread_known = true;
	if (!pthread_equal(cpu_thread, pthread_self()))
		give_up("QEMU's CPUs run in several threads: -accel tcg,thread=single is needed");
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		translate(qemu_plugin_tb_get_insn(tb, i));
}

static void on_exit_of_qemu(uint64_t id, void *data)
{
	errno = 0;
	counter_write(&counter, &machine, out);
	if (fflush(out) || ferror(out) || fclose(out))
		give_up("cannot write out=%s: %s", out_name, strerror(errno));
}

static bool read_range(const char *text)
{
	struct range *range = &counter.ranges[counter.n_ranges];
	int length = 0;

	return counter.n_ranges++ < RANGES &&
	       sscanf(text, "%u:%lx:%lx%n", &range->label, &range->start, &range->end,
		      &length) == 3 &&
	       !text[length] && range->label < LABELS && range->start < range->end;
}

static bool read_argument(const char *text)
{
	const char *range = value_of(text, "range", '='), *data = value_of(text, "data", '=');
	int length = 0;

	if (range)
		return read_range(range);
	if (data)
		return sscanf(data, "%lx:%lx%n", &counter.data_start, &counter.data_end,
			      &length) == 2 && !data[length] &&
		       counter.data_start < counter.data_end && counter.data_end <= RAM_LIMIT;
	if (!strcmp(text, "instructions=1"))
		count_instructions = true;
	else if (value_of(text, "out", '='))
		out_name = value_of(text, "out", '=');
	else if (sscanf(text, "unit=%lx%n", &unit_address, &length) != 1 || text[length])
		return machine_setting(&machine, text);
	return true;
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	const char *error;

	if (!info->system_emulation || strcmp(info->target_name, "x86_64"))
		give_up("needs qemu-system-x86_64");
	machine.cpus = info->system.max_vcpus;
	if (machine.cpus > MAX_CPUS)
		give_up("%d CPUs, it models at most %d", machine.cpus, MAX_CPUS);
	for (int i = 0; i < argc; i++) {
		if (!read_argument(argv[i]))
			give_up("bad argument %s (a cache is %s, 1 to %u ways, or 8M:full)",
				argv[i], "SIZE:WAYS as 32K:8", MAX_WAYS);
	}
	error = machine_init(&machine);
	if (error)
		give_up("%s", error);
	if (!out_name)
		give_up("out=FILE is missing");
	out = fopen(out_name, "w");
	if (!out)
		give_up("cannot open out=%s: %s", out_name, strerror(errno));
	counter.kinds = memory_new(RAM_PAGES, sizeof(*counter.kinds));
	counter.objects = memory_new(OBJECTS, sizeof(*counter.objects));
	counter.stored = memory_new((counter.data_end - counter.data_start) / 8 + 1,
				    sizeof(*counter.stored));
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
