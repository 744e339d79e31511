// SPDX-License-Identifier: GPL-2.0
/* The caches of a machine, their settings, and how lines move between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

const char * const level_names[LEVELS] = { "l1d", "l2", "llc" };

const char *value_of(const char *text, const char *name, char separator)
{
	size_t length = strlen(name);

	return strncmp(text, name, length) || text[length] != separator ? NULL : text + length + 1;
}

/* SIZE:WAYS, as 32768:8, 32K:8 or 8M:full */
static bool read_geometry(const char *text, struct geometry *geometry)
{
	char size[13], unit[2] = "", ways[6];
	int length = 0;

	if (sscanf(text, "%12[0-9]%1[KM]:%5[0-9a-z]%n", size, unit, ways, &length) != 3 &&
	    sscanf(text, "%12[0-9]:%5[0-9a-z]%n", size, ways, &length) != 2)
		return false;
	geometry->size = strtoull(size, NULL, 10) << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0);
	geometry->ways = atoi(ways);
	if (text[length] || !strcmp(ways, "full"))
		return !text[length];
	return !ways[strspn(ways, "0123456789")] && geometry->ways && geometry->ways <= MAX_WAYS;
}

bool machine_setting(struct machine *machine, const char *text)
{
	const char *value;

	for (enum level level = L1D; level < LEVELS; level++) {
		value = value_of(text, level_names[level], '=');
		if (value)
			return read_geometry(value, &machine->geometry[level]);
	}
	return false;
}

static struct cache *cache_of(struct machine *machine, unsigned int cpu, enum level level)
{
	return level == LLC ? &machine->llc : &machine->own[cpu][level];
}

const char *machine_init(struct machine *machine)
{
	static char message[128];
	const char *error = NULL;
	enum level level;

	for (level = L1D; level < LEVELS && !error; level++)
		for (int cpu = 0; cpu < (level == LLC ? 1 : machine->cpus) && !error; cpu++)
			error = cache_init(cache_of(machine, cpu, level),
					   &machine->geometry[level]);
	if (error) {
		snprintf(message, sizeof(message), "wrong geometry of %s: %s",
			 level_names[level - 1], error);
		return message;
	}
	machine->sharers = memory_new(RAM_LINES, sizeof(*machine->sharers));
	return NULL;
}

/* sharers stay: they are CPUs that may hold a line, not that do */
void machine_clear(struct machine *machine)
{
	for (int cpu = 0; cpu < machine->cpus; cpu++) {
		cache_clear(&machine->own[cpu][L1D]);
		cache_clear(&machine->own[cpu][L2]);
	}
	cache_clear(&machine->llc);
}

static void give_down(struct machine *machine, unsigned int cpu, enum level level,
		      uint32_t line);

static void fill(struct machine *machine, unsigned int cpu, enum level level, uint32_t line,
		 bool dirty)
{
	entry_t victim = cache_fill(cache_of(machine, cpu, level), line, dirty);

	if (entry_dirty(victim))
		give_down(machine, cpu, level + 1, entry_line(victim));
}

/* A dirty line is written to a level, or to memory: no use of that, its order stays */
static void give_down(struct machine *machine, unsigned int cpu, enum level level,
		      uint32_t line)
{
	if (level == LEVELS)
		machine->writebacks++;
	else if (cache_set_dirty(cache_of(machine, cpu, level), line, true) == NO_ENTRY)
		fill(machine, cpu, level, line, true);
}

/* What some CPUs hold of a line */
struct held {
	bool any, dirty;
};

static void note(struct held *held, entry_t entry)
{
	held->any |= entry != NO_ENTRY;
	held->dirty |= entry_dirty(entry);
}

/* The CPUs in mask keep the line, clean, or lose it; returns what they held */
static struct held recall(struct machine *machine, unsigned int mask, uint32_t line, bool keep)
{
	struct held held = {};

	for (; mask; mask &= mask - 1) {
		struct cache *own = machine->own[__builtin_ctz(mask)];

		for (enum level level = L1D; level <= L2; level++)
			note(&held, keep ? cache_set_dirty(own + level, line, false) :
					   cache_remove(own + level, line));
	}
	return held;
}

/* It takes the line out of all caches */
static void store_nt(struct machine *machine, uint32_t line)
{
	struct held held = recall(machine, machine->sharers[line], line, false);

	machine->sharers[line] = 0;
	note(&held, cache_remove(&machine->llc, line));
	machine->writebacks += held.dirty;
}

unsigned int machine_access(struct machine *machine, unsigned int cpu, uint32_t line,
			    enum access access)
{
	struct cache *own = machine->own[cpu];
	unsigned int mine = 1u << cpu, others, missed;
	bool store = access == STORE;
	struct held held = {};

	machine->writebacks = 0;
	if (access == STORE_NT) {
		store_nt(machine, line);
		return 0;
	}
	if (!store && cache_lookup(own + L1D, line, false))
		return 0;
	others = machine->sharers[line] & ~mine;
	if (store && others) {
		held = recall(machine, others, line, false);
		machine->sharers[line] = mine;
	}
	if (store && cache_lookup(own + L1D, line, true))
		return 0;
	missed = 1u << L1D;
	if (!cache_lookup(own + L2, line, false)) {
		missed |= 1u << L2;
		if (!store && others) {
			held = recall(machine, others, line, true);
			if (held.dirty)
				give_down(machine, cpu, LLC, line);
		}
		machine->sharers[line] |= mine;
		if (!cache_lookup(&machine->llc, line, false)) {
			/* From another CPU, or from memory; what is stored to stays out */
			if (!store || !held.any)
				fill(machine, cpu, LLC, line, false);
			if (!held.any)
				missed |= 1u << LLC;
		}
		fill(machine, cpu, L2, line, false);
	}
	fill(machine, cpu, L1D, line, store);
	return missed;
}
