/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One cache: which lines of memory it holds and which of them are dirty.
 * A line is a guest physical address divided by LINE_SIZE.
 */
#ifndef CACHEMODEL_CACHE_H
#define CACHEMODEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	bool fifo;		/* the oldest line goes, not the least used */
	uint32_t set_mask, ways;
	struct node {
		entry_t entry;
		uint32_t prev, next;
	} *nodes;		/* the heads of the lists, then the ways of each set */
	uint32_t *place;	/* of each line of memory: its node, or 0 */
};

/* NULL, or a message if there is no such cache */
const char *cache_init(struct cache *cache, const struct geometry *geometry, bool fifo);

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

#endif
