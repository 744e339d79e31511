/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is counted: for each label, by instruction, by page of memory (which
 * becomes the kind of data) and by line (the footprint).
 */
#ifndef CACHEMODEL_COUNT_H
#define CACHEMODEL_COUNT_H

#include <stdio.h>

#include "hierarchy.h"

#define LABELS		64	/* as many as a mask has bits */
#define KINDS		16
#define RANGES		16
#define PAGE_SHIFT_4K	12
#define RAM_PAGES	(RAM_LIMIT >> PAGE_SHIFT_4K)

_Static_assert(PAGE_SHIFT_4K - LINE_SHIFT == 6, "a mask has a bit for each line of a page");

/* One page of memory, for one label */
struct page {
	uint64_t touched;	/* a bit for each line */
	uint64_t missed[LEVELS + MAX_FURTHER];
};

struct label {
	uint64_t begun, ended;
	uint64_t unbalanced;	/* begun twice, or ended when not begun */
	uint64_t units, instructions;
	struct page *pages;	/* RAM_PAGES of them */
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

struct counter {
	struct label *labels[LABELS];	/* NULL: never begun */
	uint64_t io, beyond, crossing;	/* left out: devices, above 2 GiB, other pages */
	uint8_t *kinds;			/* RAM_PAGES of them */
	struct range ranges[RANGES];
	int n_ranges;
};

struct label *counter_label(struct counter *counter, unsigned int number);
struct site *counter_site(struct counter *counter, uint64_t vaddr, bool nt);

/*
 * Count one access to one line for the labels of mask: missed as
 * machine_access() returns it, and how many lines it wrote to memory.
 */
void counter_access(struct counter *counter, uint64_t mask, struct site *site, uint32_t line,
		    enum access access, unsigned int missed, unsigned int writebacks);

/* All that was counted, as JSON: the same bytes for the same run */
void counter_write(struct counter *counter, const struct machine *machine, FILE *file);

#endif
