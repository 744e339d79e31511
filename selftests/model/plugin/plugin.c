// SPDX-License-Identifier: GPL-2.0
/*
 * The cache model as a QEMU TCG plugin: sees every access of the guest, finds
 * the tags of tags.h and the non-temporal stores as code is translated, and
 * writes what was counted when QEMU ends. Needs single-threaded TCG.
 *
 * Arguments, all NAME=VALUE; sizes in bytes, with K or M:
 *   out=FILE		where the counts go, JSON
 *   l1d=, l2=, llc=	SIZE:WAYS, WAYS a number or "full"
 *   also=LEVEL:SIZE:WAYS	a further cache beside those, LEVEL l1d or l2; may be
 *			given again; with one CPU only
 *   policy=lru|fifo	which line goes when a set is full
 *   nt=evict|keep	what a non-temporal store does to a line that it hits
 *   range=LABEL:START:END	(hexadecimal) LABEL counts these instructions,
 *			while another label is begun
 *   exec=NAME:ADDRESS	(hexadecimal, or "all") count how often it is executed;
 *			"all" counts all instructions, a rep once for each time
 */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tags.h"
#include "count.h"
#include "hierarchy.h"
#include "nt.h"
#include "qemu.h"

EXPORT int qemu_plugin_version = PLUGIN_API;
EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info,
			       int argc, char **argv);

struct cpu {
	uint64_t labels;	/* begun on this CPU */
	uint64_t kind_at;	/* the instruction whose page gets a kind, or 0 */
	uint8_t kind;
};

static struct cpu cpus[MAX_CPUS];
static uint64_t labels_all;	/* begun on all CPUs */
static struct machine machine = {
	.geometry = {
		[L1D] = { .size = 32 << 10, .ways = 8 },
		[L2] = { .size = 1 << 20, .ways = 16 },
		[LLC] = { .size = 8 << 20, .ways = 16 },
	},
};
static struct counter counter;
static pthread_t cpu_thread;	/* the only one that may execute the guest */
static bool cpu_thread_known;
static FILE *out;
static const char *out_name;

static void one_access(unsigned int cpu, struct site *site, uint32_t line,
		       enum access access)
{
	unsigned int missed = machine_access(&machine, cpu, line, access);
	uint64_t mask = cpus[cpu].labels | labels_all;

	if (mask)
		mask |= site->ranges;
	counter_access(&counter, mask, site, line, access, missed,
		       machine.writebacks);
	if (machine.further_missed)
		counter_further(&counter, mask, line, machine.further_missed);
}

static void on_access(unsigned int cpu, uint32_t info, uint64_t vaddr,
		      void *data)
{
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	enum access access = LOAD;
	struct site *site = data;
	uint64_t address, last;

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
	if (cpus[cpu].kind_at && cpus[cpu].kind_at == site->vaddr) {
		counter.kinds[address >> PAGE_SHIFT_4K] = cpus[cpu].kind;
		cpus[cpu].kind_at = 0;
		return;
	}
	if (qemu_plugin_mem_is_store(info))
		access = site->nt ? STORE_NT : STORE;
	one_access(cpu, site, address >> LINE_SHIFT, access);
	if (address >> LINE_SHIFT == last >> LINE_SHIFT)
		return;
	/* QEMU gives one address: where the second page is nobody knows */
	if (address >> PAGE_SHIFT_4K == last >> PAGE_SHIFT_4K)
		one_access(cpu, site, last >> LINE_SHIFT, access);
	else
		counter.crossing++;
}

static void begin(uint64_t *mask, unsigned int number)
{
	struct label *label = counter_label(&counter, number);

	label->begun++;
	label->unbalanced += *mask >> number & 1;
	*mask |= 1ull << number;
}

static void end(uint64_t *mask, unsigned int number)
{
	struct label *label = counter_label(&counter, number);

	label->ended++;
	label->unbalanced += !(*mask >> number & 1);
	*mask &= ~(1ull << number);
}

static void give_up(const char *why)
{
	fprintf(stderr, "cachemodel: %s\n", why);
	_exit(1);
}

/* data: the tag's op and argument and the address after it, see on_translate */
struct tag {
	uint8_t op, argument;
	uint64_t after;
};

static void on_tag(unsigned int cpu, void *data)
{
	const struct tag *tag = data;

	switch (tag->op) {
	case CACHEMODEL_BEGIN:
		begin(&cpus[cpu].labels, tag->argument);
		break;
	case CACHEMODEL_END:
		end(&cpus[cpu].labels, tag->argument);
		break;
	case CACHEMODEL_BEGIN_ALL:
		begin(&labels_all, tag->argument);
		break;
	case CACHEMODEL_END_ALL:
		end(&labels_all, tag->argument);
		break;
	case CACHEMODEL_UNIT:
		if ((cpus[cpu].labels | labels_all) >> tag->argument & 1)
			counter_label(&counter, tag->argument)->units++;
		break;
	case CACHEMODEL_CLEAR:
		machine_clear(&machine);
		break;
	case CACHEMODEL_KIND:
		cpus[cpu].kind = tag->argument;
		cpus[cpu].kind_at = tag->after;
		break;
	}
}

static void on_executed(unsigned int cpu, void *data)
{
	uint64_t mask = cpus[cpu].labels | labels_all;

	for (; mask; mask &= mask - 1)
		counter_label(&counter, __builtin_ctzll(mask))->executed[(uintptr_t)data]++;
}

static void translate_tag(struct qemu_plugin_insn *insn, const uint8_t *code,
			  uint64_t vaddr)
{
	uint8_t op = code[5], argument = code[4];
	struct tag *tag;

	if (op > CACHEMODEL_KIND ||
	    argument >= (op == CACHEMODEL_KIND ? KINDS : CACHEMODEL_LABELS))
		give_up("a tag that is none");
	tag = malloc(sizeof(*tag));	/* stays: QEMU may use it to the end */
	if (!tag)
		give_up("no memory for a tag");
	*tag = (struct tag) { op, argument, vaddr + 8 };
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_tag, CB_NO_REGS, tag);
}

static void on_translate(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	if (!cpu_thread_known)
		cpu_thread = pthread_self();
	cpu_thread_known = true;
	if (!pthread_equal(cpu_thread, pthread_self()))
		give_up("QEMU runs its CPUs in several threads: -accel tcg,thread=single is needed");
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
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
		    code[6] == (CACHEMODEL_MAGIC & 0xff) &&
		    code[7] == CACHEMODEL_MAGIC >> 8)
			translate_tag(insn, code, vaddr);
		for (int e = 0; e < counter.n_executed; e++) {
			if (counter.executed[e].all || counter.executed[e].vaddr == vaddr)
				qemu_plugin_register_vcpu_insn_exec_cb(insn,
					on_executed, CB_NO_REGS, (void *)(uintptr_t)e);
		}
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, CB_NO_REGS,
			MEM_LOAD_STORE,
			counter_site(&counter, vaddr, is_nt_store(code, size)));
	}
}

static void on_exit_of_qemu(uint64_t id, void *data)
{
	errno = 0;
	counter_write(&counter, &machine, out);
	if (fflush(out) || ferror(out) || fclose(out)) {
		fprintf(stderr, "cachemodel: cannot write out=%s: %s\n", out_name,
			strerror(errno));
		_exit(1);
	}
}

static bool read_geometry(const char *text, struct geometry *geometry)
{
	unsigned long ways;
	char *rest;

	errno = 0;
	geometry->size = strtoull(text, &rest, 10);
	if (!isdigit(*text) || errno)
		return false;
	if (*rest == 'K' || *rest == 'M') {
		if (geometry->size > RAM_LIMIT)	/* before the shift loses bits */
			return false;
		geometry->size <<= *rest++ == 'K' ? 10 : 20;
	}
	if (*rest++ != ':')
		return false;
	geometry->ways = 0;
	if (!strcmp(rest, "full"))
		return true;
	text = rest;
	ways = strtoul(text, &rest, 10);
	geometry->ways = ways;
	return isdigit(*text) && !*rest && ways > 0 && ways <= MAX_WAYS && !errno;
}

static bool read_further(const char *text)
{
	struct further *further = &machine.further[machine.n_further];

	if (machine.n_further == MAX_FURTHER)
		return false;
	further->level = strncmp(text, "l1d:", 4) ? L2 : L1D;
	if (further->level == L2 && strncmp(text, "l2:", 3))
		return false;
	machine.n_further++;
	return read_geometry(strchr(text, ':') + 1, &further->geometry);
}

static bool read_range(const char *text)
{
	struct range *range = &counter.ranges[counter.n_ranges];
	int length = 0;

	if (counter.n_ranges == RANGES ||
	    sscanf(text, "%u:%lx:%lx%n", &range->label, &range->start, &range->end,
		   &length) != 3 || text[length] || range->label >= LABELS ||
	    range->start >= range->end)
		return false;
	counter.n_ranges++;
	return true;
}

static bool read_executed(const char *text)
{
	struct executed *executed = &counter.executed[counter.n_executed];
	int length = 0;

	if (counter.n_executed == EXECUTED)
		return false;
	sscanf(text, "%31[a-zA-Z0-9_]:all%n", executed->name, &length);
	executed->all = length && !text[length];
	if (!executed->all &&
	    (sscanf(text, "%31[a-zA-Z0-9_]:%lx%n", executed->name,
		    &executed->vaddr, &length) != 2 || text[length]))
		return false;
	counter.n_executed++;
	return true;
}

static bool read_argument(char *name, const char *value)
{
	static const char * const levels[] = { "l1d", "l2", "llc" };

	for (int level = 0; level < LEVELS; level++) {
		if (!strcmp(name, levels[level]))
			return read_geometry(value, &machine.geometry[level]);
	}
	if (!strcmp(name, "policy")) {
		for (int level = 0; level < LEVELS; level++)
			machine.geometry[level].fifo = !strcmp(value, "fifo");
		return !strcmp(value, "fifo") || !strcmp(value, "lru");
	}
	if (!strcmp(name, "nt")) {
		machine.nt_keep = !strcmp(value, "keep");
		return machine.nt_keep || !strcmp(value, "evict");
	}
	if (!strcmp(name, "also"))
		return read_further(value);
	if (!strcmp(name, "range"))
		return read_range(value);
	if (!strcmp(name, "exec"))
		return read_executed(value);
	if (strcmp(name, "out"))
		return false;
	out_name = value;
	return true;
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc,
			char **argv)
{
	static const char * const levels[] = { "l1d", "l2", "llc" };
	enum level level;
	const char *error;

	if (!info->system_emulation || strcmp(info->target_name, "x86_64")) {
		fprintf(stderr, "cachemodel: needs qemu-system-x86_64\n");
		return 1;
	}
	machine.cpus = info->system.max_vcpus;
	if (machine.cpus > MAX_CPUS) {
		fprintf(stderr, "cachemodel: %d CPUs, it models at most %d\n",
			machine.cpus, MAX_CPUS);
		return 1;
	}
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = 0;
		if (!value || !read_argument(argv[i], value)) {
			fprintf(stderr, "cachemodel: bad argument %s%s%s (a cache is SIZE:WAYS as 32K:8, 1 to %u ways, or 8M:full)\n",
				argv[i], value ? "=" : "", value ? value : "", MAX_WAYS);
			return 1;
		}
	}
	error = machine_init(&machine, &level);
	if (error) {
		fprintf(stderr, "cachemodel: wrong geometry of %s: %s\n",
			levels[level], error);
		return 1;
	}
	if (!out_name) {
		fprintf(stderr, "cachemodel: out=FILE is missing\n");
		return 1;
	}
	out = fopen(out_name, "w");
	if (!out) {
		fprintf(stderr, "cachemodel: cannot open out=%s: %s\n", out_name,
			strerror(errno));
		return 1;
	}
	counter_init(&counter);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
