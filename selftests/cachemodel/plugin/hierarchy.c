// SPDX-License-Identifier: GPL-2.0
/* The caches of a machine and how lines move between them. */
#include <stddef.h>

#include "hierarchy.h"
#include "memory.h"

const char *machine_init(struct machine *machine, enum level *level)
{
	const char *error;

	for (int cpu = 0; cpu < machine->cpus; cpu++) {
		*level = L1D;
		machine->l1d[cpu] = cache_new(&machine->geometry[L1D], &error);
		if (error)
			return error;
		*level = L2;
		machine->l2[cpu] = cache_new(&machine->geometry[L2], &error);
		if (error)
			return error;
	}
	*level = LLC;
	machine->llc = cache_new(&machine->geometry[LLC], &error);
	if (error)
		return error;
	machine->sharers = table_new(RAM_LINES, sizeof(*machine->sharers));
	return machine->sharers ? NULL : "no memory for the sharers of lines";
}

void machine_clear(struct machine *machine)
{
	for (int cpu = 0; cpu < machine->cpus; cpu++) {
		cache_clear(machine->l1d[cpu]);
		cache_clear(machine->l2[cpu]);
	}
	cache_clear(machine->llc);
}

static void put_llc(struct machine *machine, uint32_t line, bool dirty)
{
	entry_t gone = cache_insert(machine->llc, line, dirty);

	if (gone != NO_ENTRY && entry_dirty(gone))
		machine->writebacks++;
}

/* A dirty line leaves a CPU: no use of the LLC, its order stays */
static void write_to_llc(struct machine *machine, uint32_t line)
{
	bool was_dirty;

	if (!cache_set_dirty(machine->llc, line, true, &was_dirty))
		put_llc(machine, line, true);
}

static void put_l2(struct machine *machine, unsigned int cpu, uint32_t line,
		   bool dirty)
{
	entry_t gone = cache_insert(machine->l2[cpu], line, dirty);

	if (gone != NO_ENTRY && entry_dirty(gone))
		write_to_llc(machine, entry_line(gone));
}

static void put_l1d(struct machine *machine, unsigned int cpu, uint32_t line,
		    bool dirty)
{
	entry_t gone = cache_insert(machine->l1d[cpu], line, dirty);
	bool was_dirty;

	if (gone == NO_ENTRY || !entry_dirty(gone))
		return;
	if (!cache_set_dirty(machine->l2[cpu], entry_line(gone), true, &was_dirty))
		put_l2(machine, cpu, entry_line(gone), true);
}

static bool is_dirty(entry_t entry)
{
	return entry != NO_ENTRY && entry_dirty(entry);
}

/* Take the line away from the CPUs in mask; whether one had it dirty */
static bool invalidate(struct machine *machine, unsigned int mask, uint32_t line)
{
	bool dirty = false;

	for (int cpu = 0; cpu < machine->cpus; cpu++) {
		if (!(mask >> cpu & 1))
			continue;
		dirty |= is_dirty(cache_remove(machine->l1d[cpu], line));
		dirty |= is_dirty(cache_remove(machine->l2[cpu], line));
	}
	return dirty;
}

/* The CPUs in mask keep the line but give what they wrote to the LLC */
static void share(struct machine *machine, unsigned int mask, uint32_t line)
{
	bool dirty = false, was_dirty;

	for (int cpu = 0; cpu < machine->cpus; cpu++) {
		if (!(mask >> cpu & 1))
			continue;
		if (cache_set_dirty(machine->l1d[cpu], line, false, &was_dirty))
			dirty |= was_dirty;
		if (cache_set_dirty(machine->l2[cpu], line, false, &was_dirty))
			dirty |= was_dirty;
	}
	if (dirty)
		write_to_llc(machine, line);
}

static unsigned int store_nt(struct machine *machine, unsigned int cpu,
			     uint32_t line)
{
	unsigned int mine = 1u << cpu, taken = machine->sharers[line];
	bool dirty;

	if (machine->nt_keep)
		taken &= ~mine;
	dirty = invalidate(machine, taken, line);
	machine->sharers[line] &= ~taken;
	if (!machine->nt_keep)
		dirty |= is_dirty(cache_remove(machine->llc, line));
	machine->writebacks += dirty;
	return 0;
}

unsigned int machine_access_slow(struct machine *machine, unsigned int cpu,
				 uint32_t line, enum access access)
{
	unsigned int mine = 1u << cpu, others;
	bool store = access == STORE;

	if (access == LOAD && cache_use(machine->l1d[cpu], line, false))
		return 0;
	if (access == STORE_NT)
		return store_nt(machine, cpu, line);
	others = machine->sharers[line] & ~mine;
	if (store && others) {
		/* What another CPU wrote comes with the line to this one */
		if (invalidate(machine, others, line))
			write_to_llc(machine, line);
		machine->sharers[line] = mine;
	}
	if (store && cache_use(machine->l1d[cpu], line, true))
		return 0;
	if (cache_use(machine->l2[cpu], line, false)) {
		put_l1d(machine, cpu, line, store);
		return 1;
	}
	if (others && !store)
		share(machine, others, line);
	machine->sharers[line] |= mine;
	if (cache_use(machine->llc, line, false)) {
		put_l2(machine, cpu, line, false);
		put_l1d(machine, cpu, line, store);
		return 2;
	}
	put_llc(machine, line, false);
	put_l2(machine, cpu, line, false);
	put_l1d(machine, cpu, line, store);
	return 3;
}
