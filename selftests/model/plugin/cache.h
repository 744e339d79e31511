/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One cache: which lines of memory it holds and which of them are dirty.
 * A line is a guest physical address divided by LINE_SIZE.
 */
#ifndef CACHEMODEL_CACHE_H
#define CACHEMODEL_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define LINE_SHIFT	6			/* 64 bytes, as on x86-64 */
#define LINE_SIZE	(1u << LINE_SHIFT)
#define MAX_WAYS	(1u << 16)
#define RAM_LIMIT	(2ull << 30)		/* bytes of memory looked at */
#define RAM_LINES	(RAM_LIMIT >> LINE_SHIFT)

struct geometry {
	uint64_t size;		/* bytes */
	unsigned int ways;	/* 0: fully associative */
	bool fifo;		/* the oldest line goes, not the least used */
};

/* What a cache holds of a line: the line and its dirty bit, or nothing */
typedef uint32_t entry_t;
#define NO_ENTRY	UINT32_MAX	/* the entry of no line */

static inline uint32_t entry_line(entry_t entry)
{
	return entry >> 1;
}

static inline bool entry_dirty(entry_t entry)
{
	return entry & 1;
}

struct node {
	entry_t entry;
	uint32_t prev, next;
};

/* cache.c's own, here for cache_lookup_first() */
struct cache {
	bool fifo;
	/* with sets: ways entries for each, the last one used comes first */
	unsigned int ways;
	uint32_t set_mask;
	entry_t *sets;
	/* fully associative: node 0 is the head of the list, of no line */
	uint32_t capacity, used;
	struct node *nodes;
	uint32_t *place;
};

/* NULL with a message in *error if the geometry is none */
struct cache *cache_new(const struct geometry *geometry, const char **error);

/* Whether a line is there; it becomes the last used, and dirty if asked */
bool cache_lookup(struct cache *cache, uint32_t line, bool dirty);

/* cache_lookup() for most accesses: to the line that was used last in its set */
static inline bool cache_lookup_first(struct cache *cache, uint32_t line, bool dirty)
{
	entry_t *first;

	if (cache->ways)
		first = cache->sets + (uint64_t)(line & cache->set_mask) * cache->ways;
	else
		first = &cache->nodes[cache->nodes->next].entry;
	if (entry_line(*first) != line)
		return false;
	*first |= dirty;
	return true;
}

/* Put in a line that is not there, return the victim or NO_ENTRY */
entry_t cache_fill(struct cache *cache, uint32_t line, bool dirty);

/* Take a line out, return what was there */
entry_t cache_remove(struct cache *cache, uint32_t line);

/* Set or clear the dirty bit, the order stays; returns what was there */
entry_t cache_set_dirty(struct cache *cache, uint32_t line, bool dirty);

/* Forget everything, dirty lines too */
void cache_clear(struct cache *cache);

#endif
