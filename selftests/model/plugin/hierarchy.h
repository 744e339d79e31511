/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The caches of a machine: for each CPU an L1D and an L2, one LLC for all,
 * and memory. Write back, write allocate, neither inclusive nor exclusive.
 * A store invalidates the line in the other CPUs and takes over what they had
 * written; a load makes them write it to the LLC and keep it clean (MESI). A
 * line that another CPU holds comes from there, and counts as if from the LLC.
 * Further caches of other sizes see the same run.
 */
#ifndef CACHEMODEL_HIERARCHY_H
#define CACHEMODEL_HIERARCHY_H

#include "cache.h"

enum level { L1D, L2, LLC, LEVELS };

#define MAX_CPUS	8
#define MAX_FURTHER	8

enum access { LOAD, STORE, STORE_NT, ACCESSES };

/*
 * One more cache: at level L1D it sees all accesses, at level L2 those that
 * miss in the machine's L1D and the dirty lines that leave it. Nothing is
 * behind it, and nothing else changes by it. For one CPU.
 */
struct further {
	const char *name;	/* as given: LEVEL:SIZE:WAYS */
	enum level level;
	struct geometry geometry;
	struct cache cache;
};

struct machine {
	struct geometry geometry[LEVELS];
	bool fifo;		/* the policy of all caches, else LRU */
	bool nt_keep;		/* a non-temporal store leaves a line it hits in place */
	int cpus;
	struct cache own[MAX_CPUS][2], llc;
	uint8_t *sharers;	/* for each line the CPUs that may hold it */
	struct further further[MAX_FURTHER];
	int n_further;
	unsigned int writebacks;	/* lines that the access under way wrote to memory */
};

#define MACHINE_DEFAULT	{ .cpus = 1, .geometry = {	\
	[L1D] = { 32 << 10, 8 }, [L2] = { 1 << 20, 16 }, [LLC] = { 8 << 20, 16 } } }

extern const char * const level_names[LEVELS];

/* The value in NAME=VALUE, for separator '='; NULL if text is none of this name */
const char *value_of(const char *text, const char *name, char separator);

/* Take a setting of the caches (l1d=, l2=, llc=, also=, policy=, nt=); false if it is none */
bool machine_setting(struct machine *machine, const char *text);

/* Make the caches; NULL, or a message that names the wrong one */
const char *machine_init(struct machine *machine);

/* Empty all caches; nothing is written back */
void machine_clear(struct machine *machine);

/*
 * One access to one line. Returns a bit for each level that it missed in and,
 * from LEVELS on, for each further cache; none for a non-temporal store.
 */
unsigned int machine_access(struct machine *machine, unsigned int cpu, uint32_t line,
			    enum access access);

/* Whether the stores of the instruction in code, size bytes, are non-temporal */
bool is_nt_store(const uint8_t *code, size_t size);

#endif
