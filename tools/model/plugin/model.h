/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the cache model: a cache, a machine of several, and what is counted. */
#ifndef CACHEMODEL_MODEL_H
#define CACHEMODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * cache.c, one cache: which lines of memory it holds and which of them are
 * dirty. A line is a guest physical address divided by LINE_SIZE.
 */
#define LINE_SHIFT	6			/* 64 bytes, as on x86-64 */
#define LINE_SIZE	(1u << LINE_SHIFT)
#define MAX_WAYS	(1u << 16)
#define RAM_LIMIT	(2ull << 30)		/* bytes of memory that are modelled */
#define RAM_LINES	(RAM_LIMIT >> LINE_SHIFT)

struct geometry {
	uint64_t size;		/* bytes */
	unsigned int ways;	/* 0: fully associative */
};

/* What a cache holds of a line: the line and its dirty bit, or nothing */
typedef uint32_t entry_t;
#define NO_ENTRY	UINT32_MAX

static inline uint32_t entry_line(entry_t entry)
{
	return entry >> 1;
}

static inline bool entry_dirty(entry_t entry)
{
	return entry != NO_ENTRY && entry & 1;
}

/* For each set a list of its ways, the last one used first, those without a line last */
struct cache {
	uint32_t set_mask, ways;
	struct node {
		entry_t entry;
		uint32_t prev, next;
	} *nodes;		/* the heads of the lists, then the ways of each set */
	uint32_t *place;	/* of each line of memory: its node, or 0 */
};

/* NULL, or a message if there is no such cache */
const char *cache_init(struct cache *cache, const struct geometry *geometry);

/* Whether a line is there; it becomes the last used, and dirty if asked */
bool cache_lookup(struct cache *cache, uint32_t line, bool dirty);

/* Put in a line that is not there, return the victim or NO_ENTRY */
entry_t cache_fill(struct cache *cache, uint32_t line, bool dirty);

/* Take a line out, return what was there */
entry_t cache_remove(struct cache *cache, uint32_t line);

/* Set or clear the dirty bit, the order stays; returns what was there */
entry_t cache_set_dirty(struct cache *cache, uint32_t line, bool dirty);

/* Forget everything, dirty lines too */
void cache_clear(struct cache *cache);

/* Zeroed memory, in huge pages if it is large; ends the process if there is none */
void *memory_new(size_t n, size_t size);

/*
 * hierarchy.c, the caches of a machine: for each CPU an L1D and an L2, one LLC
 * for all, and memory. Write back, write allocate, neither inclusive nor
 * exclusive. A store invalidates the line in the other CPUs and takes over what
 * they had written; a load makes them write it to the LLC and keep it clean
 * (MESI). A line that another CPU holds comes from there, and counts as if from
 * the LLC.
 */
enum level { L1D, L2, LLC, LEVELS };

#define MAX_CPUS	8

enum access { LOAD, STORE, STORE_NT, ACCESSES };

struct machine {
	struct geometry geometry[LEVELS];
	int cpus;
	struct cache own[MAX_CPUS][2], llc;
	uint8_t *sharers;	/* for each line the CPUs that may hold it */
	unsigned int writebacks;	/* lines that the access under way wrote to memory */
};

#define MACHINE_DEFAULT	{ .cpus = 1, .geometry = {	\
	[L1D] = { 32 << 10, 8 }, [L2] = { 1 << 20, 16 }, [LLC] = { 8 << 20, 16 } } }

extern const char * const level_names[LEVELS];

/* The value in NAME=VALUE, for separator '='; NULL if text is none of this name */
const char *value_of(const char *text, const char *name, char separator);

/* Take a setting of the caches (l1d=, l2=, llc=); false if it is none */
bool machine_setting(struct machine *machine, const char *text);

/* Make the caches; NULL, or a message that names the wrong one */
const char *machine_init(struct machine *machine);

/* Empty all caches; nothing is written back */
void machine_clear(struct machine *machine);

/*
 * One access to one line. Returns a bit for each level that it missed in; none
 * for a non-temporal store.
 */
unsigned int machine_access(struct machine *machine, unsigned int cpu, uint32_t line,
			    enum access access);

/* Whether the stores of the instruction in code, size bytes, are non-temporal */
bool is_nt_store(const uint8_t *code, size_t size);

/*
 * count.c, what is counted: for each label, by instruction, by page of memory
 * (which becomes the kind of data) and by line (the footprint).
 */
#define LABELS		64	/* as many as a mask has bits */
#define KINDS		16
#define RANGES		16
#define PAGE_SHIFT_4K	12
#define RAM_PAGES	(RAM_LIMIT >> PAGE_SHIFT_4K)

_Static_assert(PAGE_SHIFT_4K - LINE_SHIFT == 6, "a mask has a bit for each line of a page");

/* Of each line of a page a bit for each four bytes that were loaded, and stored */
struct quads {
	uint16_t loaded[64], stored[64];
};

/* One page of memory, for one label */
struct page {
	uint64_t touched;	/* a bit for each line */
	struct quads *quads;	/* NULL: not touched */
	uint64_t missed[LEVELS];
};

/* Eight bytes of data= for one label: accesses, and those that missed in L1D */
struct word {
	uint32_t loads, stores, missed;
};

struct label {
	uint64_t begun, ended;
	uint64_t unbalanced;	/* begun twice, or ended when not begun */
	uint64_t units, instructions;
	struct page *pages;	/* RAM_PAGES of them */
	struct word *words;	/* of data=, or NULL */
};

/* Accesses by how many levels they missed in and by kind, then lines written to memory */
#define COUNTS	((LEVELS + 1) * ACCESSES + 1)

/* The counts of one instruction while just the labels of mask were begun */
struct tally {
	uint64_t mask;
	struct tally *next;	/* another mask's */
	uint64_t n[COUNTS];
};

/*
 * One instruction; found again when it is translated again. What most accesses
 * need is in its first 64 bytes: the model lives from few misses of its own.
 */
struct site {
	uint64_t ranges;	/* the labels of the ranges that it is in */
	bool nt;
	struct tally now;	/* of the mask that was used last */
	uint64_t vaddr;
	struct site *next;
} __attribute__((aligned(64)));

/* A label that counts the instructions of some addresses, end excluded */
struct range {
	unsigned int label;
	uint64_t start, end;
};

/* What is told of by address; its parts are counted by where they are in it */
#define OBJECTS		(1u << 14)
#define OBJECT_LINES	256
#define LINE_QUADS	(LINE_SIZE / 4)

struct object {
	uint8_t kind;
	uint32_t line, lines;
};

struct counter {
	struct label *labels[LABELS];	/* NULL: never begun */
	uint64_t io, beyond, crossing;	/* left out: devices, above 2 GiB, other pages */
	uint8_t *kinds;			/* RAM_PAGES of them */
	struct object *objects;		/* OBJECTS of them */
	unsigned int n_objects;
	struct range ranges[RANGES];
	int n_ranges;
	uint64_t data_start, data_end;	/* of data=, physical */
	bool *stored;			/* by word: since a label was begun */
	bool begun;
};

struct label *counter_label(struct counter *counter, unsigned int number);
struct site *counter_site(struct counter *counter, uint64_t vaddr, bool nt);

/*
 * Count one access to the bytes first to last of one line for the labels of mask: missed as
 * machine_access() returns it, and how many lines it wrote to memory.
 */
void counter_access(struct counter *counter, uint64_t mask, struct site *site, uint64_t first,
		    uint64_t last, enum access access, unsigned int missed,
		    unsigned int writebacks);

/* An object begins on a line, and ends on one; false if there are too many, or it is too large */
bool counter_object(struct counter *counter, uint8_t kind, uint32_t line);
bool counter_last(struct counter *counter, uint32_t line);

/* Count one access by its address, if that is in data= */
void counter_data(struct counter *counter, uint64_t mask, uint64_t address, enum access access,
		  unsigned int missed);

/* All that was counted, as JSON: the same bytes for the same run */
void counter_write(struct counter *counter, const struct machine *machine, FILE *file);

#endif
