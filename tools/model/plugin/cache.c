// SPDX-License-Identifier: GPL-2.0
/* One cache, and memory for the model's tables. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"

#define HUGE_PAGE	(2ul << 20)

/*
 * The guest's accesses are all over the tables: without huge pages the model
 * spends its time on misses of the host's TLB.
 */
void *memory_new(size_t n, size_t size)
{
	size_t bytes = (n * size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	char *memory;

	if (n * size < HUGE_PAGE) {
		memory = calloc(n, size);
	} else {
		memory = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			memory = NULL;
		memory += -(size_t)memory % HUGE_PAGE;
		madvise(memory, bytes, MADV_HUGEPAGE);
	}
	if (!memory) {
		fprintf(stderr, "cachemodel: no memory for the model\n");
		_exit(1);
	}
	return memory;
}

const char *cache_init(struct cache *cache, const struct geometry *geometry)
{
	uint64_t lines = geometry->size >> LINE_SHIFT, ways = geometry->ways ?: lines, sets;

	if (!geometry->size || geometry->size % LINE_SIZE)
		return "the size is no multiple of the 64-byte line";
	if (lines > RAM_LINES)
		return "larger than the 2 GiB of memory that are modelled";
	if (ways > lines)
		return "more ways than lines";
	sets = lines / ways;
	if (lines % ways || sets & (sets - 1))
		return "size / (ways * 64), the number of sets, is not a power of two";

	cache->ways = ways;
	cache->set_mask = sets - 1;
	cache->nodes = memory_new(sets + lines, sizeof(*cache->nodes));
	cache->place = memory_new(RAM_LINES, sizeof(*cache->place));
	for (uint32_t at = 0; at < sets + lines; at++)
		cache->nodes[at].entry = NO_ENTRY;
	cache_clear(cache);
	return NULL;
}

/* Put a node behind another one, or its set's head */
static void move(struct node *nodes, uint32_t at, uint32_t behind)
{
	struct node *node = nodes + at;

	if (at == behind)
		return;
	nodes[node->prev].next = node->next;
	nodes[node->next].prev = node->prev;
	node->prev = behind;
	node->next = nodes[behind].next;
	nodes[node->next].prev = at;
	nodes[behind].next = at;
}

bool cache_lookup(struct cache *cache, uint32_t line, bool dirty)
{
	uint32_t set = line & cache->set_mask, at = cache->nodes[set].next;

	/* Nine accesses in ten are to the line used last in its set */
	if (entry_line(cache->nodes[at].entry) != line) {
		at = cache->place[line];
		if (!at)
			return false;
		move(cache->nodes, at, set);
	}
	cache->nodes[at].entry |= dirty;
	return true;
}

entry_t cache_fill(struct cache *cache, uint32_t line, bool dirty)
{
	uint32_t set = line & cache->set_mask, at = cache->nodes[set].prev;
	entry_t victim = cache->nodes[at].entry;

	if (victim != NO_ENTRY)
		cache->place[entry_line(victim)] = 0;
	cache->nodes[at].entry = line << 1 | dirty;
	cache->place[line] = at;
	move(cache->nodes, at, set);
	return victim;
}

entry_t cache_remove(struct cache *cache, uint32_t line)
{
	uint32_t at = cache->place[line];
	entry_t was = cache->nodes[at].entry;

	if (!at)
		return NO_ENTRY;
	cache->nodes[at].entry = NO_ENTRY;
	cache->place[line] = 0;
	move(cache->nodes, at, cache->nodes[line & cache->set_mask].prev);
	return was;
}

entry_t cache_set_dirty(struct cache *cache, uint32_t line, bool dirty)
{
	uint32_t at = cache->place[line];
	entry_t was = cache->nodes[at].entry;

	if (!at)
		return NO_ENTRY;
	cache->nodes[at].entry = line << 1 | dirty;
	return was;
}

void cache_clear(struct cache *cache)
{
	struct node *nodes = cache->nodes;
	uint32_t at = cache->set_mask + 1;

	for (uint32_t set = 0; set <= cache->set_mask; set++) {
		nodes[set] = (struct node) { NO_ENTRY, set, set };
		for (uint32_t way = 0; way < cache->ways; way++, at++) {
			if (nodes[at].entry != NO_ENTRY)
				cache->place[entry_line(nodes[at].entry)] = 0;
			nodes[at] = (struct node) { NO_ENTRY, at, at };
			move(nodes, at, set);
		}
	}
}
