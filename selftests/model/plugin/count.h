/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is counted: for each label, in all and by instruction, by page of
 * memory (which becomes the kind of data) and by line (the footprint).
 */
#ifndef CACHEMODEL_COUNT_H
#define CACHEMODEL_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hierarchy.h"

#define LABELS		64	/* as many as a mask has bits */
#define KINDS		16
#define RANGES		16
#define EXECUTED	16
#define PAGE_SHIFT_4K	12
#define RAM_PAGES	(RAM_LIMIT >> PAGE_SHIFT_4K)

/* Accesses by what they were and by how many levels they missed in */
struct counts {
	uint64_t n[LEVELS + 1][ACCESSES];
	uint64_t writebacks;	/* lines written to memory, of any owner */
};

struct page_misses {
	uint64_t n[LEVELS];
};

struct further_misses {
	uint64_t n[MAX_FURTHER];
};

struct label {
	uint64_t begun, ended;
	uint64_t unbalanced;	/* begun twice, or ended when not begun */
	uint64_t units;
	uint64_t executed[EXECUTED];
	struct page_misses *pages;	/* RAM_PAGES of them */
	struct further_misses *further;	/* the same of the further caches */
	uint64_t *touched;		/* RAM_LINES bits */
};

/* The counts of one instruction while just the labels of mask were begun */
struct tally {
	uint64_t mask;
	struct tally *next;	/* another mask's */
	struct counts counts;
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

/* An instruction, or all of them, counted each time it is executed */
struct executed {
	char name[32];
	uint64_t vaddr;
	bool all;
};

struct counter {
	struct label *labels[LABELS];	/* NULL: never begun */
	uint64_t io, beyond, crossing;	/* left out: devices, above 2 GiB, other pages */
	uint8_t *kinds;			/* RAM_PAGES of them */
	struct range ranges[RANGES];
	struct executed executed[EXECUTED];
	int n_ranges, n_executed;
};

/* One word of label.touched is one page */
_Static_assert(PAGE_SHIFT_4K - LINE_SHIFT == 6, "64 lines in a page");

/* All of these end QEMU with a message when there is no memory */
void counter_init(struct counter *counter);
struct label *counter_new_label(struct counter *counter, unsigned int number);
struct site *counter_site(struct counter *counter, uint64_t vaddr, bool nt);

static inline struct label *counter_label(struct counter *counter,
					  unsigned int number)
{
	struct label *label = counter->labels[number];

	return label ? label : counter_new_label(counter, number);
}

/* Make now the tally of these labels */
void counter_change(struct site *site, uint64_t mask);

/* Count for the labels of mask which line was touched and where it missed */
static inline void counter_line(struct counter *counter, uint64_t mask,
				uint32_t line, unsigned int missed)
{
	for (; mask; mask &= mask - 1) {
		struct label *label = counter_label(counter, __builtin_ctzll(mask));

		label->touched[line / 64] |= 1ull << line % 64;
		for (unsigned int level = 0; level < missed; level++)
			label->pages[line >> (PAGE_SHIFT_4K - LINE_SHIFT)].n[level]++;
	}
}

/* Count for the labels of mask in which further caches a line was missed */
static inline void counter_further(struct counter *counter, uint64_t mask,
				   uint32_t line, unsigned int further_missed)
{
	for (; mask; mask &= mask - 1) {
		struct label *label = counter_label(counter, __builtin_ctzll(mask));
		struct further_misses *page =
			label->further + (line >> (PAGE_SHIFT_4K - LINE_SHIFT));

		for (unsigned int bits = further_missed; bits; bits &= bits - 1)
			page->n[__builtin_ctz(bits)]++;
	}
}

/* Count one access to one line for the labels of mask */
static inline void counter_access(struct counter *counter, uint64_t mask,
				  struct site *site, uint32_t line,
				  enum access access, unsigned int missed,
				  unsigned int writebacks)
{
	if (site->now.mask != mask)
		counter_change(site, mask);
	site->now.counts.n[missed][access]++;
	if (writebacks)
		site->now.counts.writebacks += writebacks;
	if (mask)
		counter_line(counter, mask, line, missed);
}

/* All that was counted, as JSON: the same bytes for the same counts */
void counter_write(struct counter *counter, const struct machine *machine,
		   FILE *file);

#endif
