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
	for (int i = 0; i < machine->n_further; i++) {
		struct further *further = &machine->further[i];

		*level = further->level;
		if (machine->cpus > 1)
			return "caches beside it are for one CPU only";
		further->geometry.fifo = machine->geometry[*level].fifo;
		further->cache = cache_new(&further->geometry, &error);
		if (error)
			return error;
	}
	machine->sharers = table_new(RAM_LINES, sizeof(*machine->sharers));
	return machine->sharers ? NULL : "no memory for the sharers of lines";
}

/* sharers stay: they are CPUs that may hold a line, not that do */
void machine_clear(struct machine *machine)
{
	for (int cpu = 0; cpu < machine->cpus; cpu++) {
		cache_clear(machine->l1d[cpu]);
		cache_clear(machine->l2[cpu]);
	}
	cache_clear(machine->llc);
	for (int i = 0; i < machine->n_further; i++)
		cache_clear(machine->further[i].cache);
}

void machine_further(struct machine *machine, enum level level, uint32_t line,
		     bool dirty)
{
	for (int i = 0; i < machine->n_further; i++) {
		struct cache *cache = machine->further[i].cache;

		if (machine->further[i].level != level ||
		    cache_lookup_first(cache, line, dirty) ||
		    cache_lookup(cache, line, dirty))
			continue;
		cache_fill(cache, line, dirty);
		machine->further_missed |= 1u << i;
	}
}

static void fill_llc(struct machine *machine, uint32_t line, bool dirty)
{
	entry_t victim = cache_fill(machine->llc, line, dirty);

	if (victim != NO_ENTRY && entry_dirty(victim))
		machine->writebacks++;
}

/* A dirty line leaves a CPU: no use of the LLC, its order stays */
static void write_to_llc(struct machine *machine, uint32_t line)
{
	if (cache_set_dirty(machine->llc, line, true) == NO_ENTRY)
		fill_llc(machine, line, true);
}

static void fill_l2(struct machine *machine, unsigned int cpu, uint32_t line,
		    bool dirty)
{
	entry_t victim = cache_fill(machine->l2[cpu], line, dirty);

	if (victim != NO_ENTRY && entry_dirty(victim))
		write_to_llc(machine, entry_line(victim));
}

static void fill_l1d(struct machine *machine, unsigned int cpu, uint32_t line,
		     bool dirty)
{
	entry_t victim = cache_fill(machine->l1d[cpu], line, dirty);

	if (victim == NO_ENTRY || !entry_dirty(victim))
		return;
	line = entry_line(victim);
	if (cache_set_dirty(machine->l2[cpu], line, true) == NO_ENTRY)
		fill_l2(machine, cpu, line, true);
	for (int i = 0; i < machine->n_further; i++) {
		struct cache *cache = machine->further[i].cache;

		if (machine->further[i].level == L2 &&
		    cache_set_dirty(cache, line, true) == NO_ENTRY)
			cache_fill(cache, line, true);
	}
}

/* What some CPUs hold of a line */
struct held {
	bool any, dirty;
};

static void note(struct held *held, entry_t entry)
{
	held->any |= entry != NO_ENTRY;
	held->dirty |= entry != NO_ENTRY && entry_dirty(entry);
}

/* Take the line away from the CPUs in mask; returns what they held */
static struct held invalidate(struct machine *machine, unsigned int mask,
			      uint32_t line)
{
	struct held held = {};

	for (int cpu = 0; cpu < machine->cpus; cpu++) {
		if (!(mask >> cpu & 1))
			continue;
		note(&held, cache_remove(machine->l1d[cpu], line));
		note(&held, cache_remove(machine->l2[cpu], line));
	}
	return held;
}

/* The CPUs in mask keep the line, clean; returns what they held */
static struct held downgrade(struct machine *machine, unsigned int mask,
			     uint32_t line)
{
	struct held held = {};

	for (int cpu = 0; cpu < machine->cpus; cpu++) {
		if (!(mask >> cpu & 1))
			continue;
		note(&held, cache_set_dirty(machine->l1d[cpu], line, false));
		note(&held, cache_set_dirty(machine->l2[cpu], line, false));
	}
	return held;
}

static void store_nt(struct machine *machine, unsigned int cpu, uint32_t line)
{
	unsigned int mine = 1u << cpu, taken = machine->sharers[line];
	struct held held;

	if (machine->nt_keep)
		taken &= ~mine;
	held = invalidate(machine, taken, line);
	machine->sharers[line] &= ~taken;
	if (!machine->nt_keep) {
		note(&held, cache_remove(machine->llc, line));
		for (int i = 0; i < machine->n_further; i++)
			cache_remove(machine->further[i].cache, line);
	}
	machine->writebacks += held.dirty;
}

unsigned int machine_access_slow(struct machine *machine, unsigned int cpu,
				 uint32_t line, enum access access)
{
	unsigned int mine = 1u << cpu, others;
	bool store = access == STORE;
	struct held held = {};

	if (access == LOAD && cache_lookup(machine->l1d[cpu], line, false))
		return 0;
	if (access == STORE_NT) {
		store_nt(machine, cpu, line);
		return 0;
	}
	others = machine->sharers[line] & ~mine;
	if (store && others) {
		held = invalidate(machine, others, line);
		machine->sharers[line] = mine;
	}
	if (store && cache_lookup(machine->l1d[cpu], line, true))
		return 0;
	machine_further(machine, L2, line, false);
	if (cache_lookup(machine->l2[cpu], line, false)) {
		fill_l1d(machine, cpu, line, store);
		return 1;
	}
	if (!store && others) {
		held = downgrade(machine, others, line);
		if (held.dirty)
			write_to_llc(machine, line);
	}
	machine->sharers[line] |= mine;
	if (!cache_lookup(machine->llc, line, false)) {
		/* From another CPU, or from memory; what is stored to stays out */
		if (!store || !held.any)
			fill_llc(machine, line, false);
		if (!held.any) {
			fill_l2(machine, cpu, line, false);
			fill_l1d(machine, cpu, line, store);
			return 3;
		}
	}
	fill_l2(machine, cpu, line, false);
	fill_l1d(machine, cpu, line, store);
	return 2;
}
