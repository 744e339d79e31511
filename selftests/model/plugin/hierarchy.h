/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The caches of a machine: for each CPU an L1D and an L2, one LLC for all,
 * and memory. Write back, write allocate, neither inclusive nor exclusive.
 * A store invalidates the line in the other CPUs and takes over what they had
 * written; a load makes them write it to the LLC and keep it clean (MESI). A
 * line that another CPU holds comes from there, and counts as if from the LLC.
 * Further caches stand beside them, for other sizes in the same run.
 */
#ifndef CACHEMODEL_HIERARCHY_H
#define CACHEMODEL_HIERARCHY_H

#include "cache.h"

enum level { L1D, L2, LLC, LEVELS };

#define MAX_CPUS	8
#define MAX_FURTHER	8

enum access { LOAD, STORE, STORE_NT, ACCESSES };

/*
 * One beside the machine's own caches: at level L1D it sees all accesses, at
 * level L2 those that miss in the machine's L1D and the dirty lines that leave
 * it. Nothing is behind it, and nothing else changes by it. For one CPU.
 */
struct further {
	enum level level;	/* L1D or L2 */
	struct geometry geometry;
	struct cache *cache;
};

struct machine {
	struct geometry geometry[LEVELS];
	bool nt_keep;	/* a non-temporal store leaves a line it hits in place */
	int cpus;
	struct cache *l1d[MAX_CPUS], *l2[MAX_CPUS], *llc;
	uint8_t *sharers;	/* for each line the CPUs that may hold it */
	struct further further[MAX_FURTHER];
	int n_further;
	/* By the access under way: lines to memory, further caches that missed */
	unsigned int writebacks, further_missed;
};

/* Make the caches; NULL, or a message and in *level which geometry it is about */
const char *machine_init(struct machine *machine, enum level *level);

/* Empty all caches; nothing is written back */
void machine_clear(struct machine *machine);

/*
 * One access to one line that is no hit in L1D of the simplest kind. Returns in
 * how many levels it missed: 0 for a hit in L1D, LEVELS for one that went to
 * memory; 0 for a non-temporal store. machine->writebacks is how many dirty
 * lines went to memory for it, machine->further_missed has a bit for each
 * further cache that it missed in.
 */
unsigned int machine_access_slow(struct machine *machine, unsigned int cpu,
				 uint32_t line, enum access access);

/* The further caches of a level see a use of a line, and fetch it on a miss */
void machine_further(struct machine *machine, enum level level, uint32_t line,
		     bool dirty);

/* Any access: nine in ten are to the line used last in its set of L1D */
static inline unsigned int machine_access(struct machine *machine,
					  unsigned int cpu, uint32_t line,
					  enum access access)
{
	machine->writebacks = 0;
	machine->further_missed = 0;
	if (machine->n_further && access != STORE_NT)
		machine_further(machine, L1D, line, access == STORE);
	if ((access == LOAD ||
	     (access == STORE && machine->sharers[line] == 1u << cpu)) &&
	    cache_lookup_first(machine->l1d[cpu], line, access == STORE))
		return 0;
	return machine_access_slow(machine, cpu, line, access);
}

#endif
