// SPDX-License-Identifier: GPL-2.0
/*
 * One cache, with sets (an array per set, the most recently used entry first)
 * or fully associative (a list, and for each line of memory its place in it).
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "memory.h"

static bool power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

struct cache *cache_new(const struct geometry *geometry, const char **error)
{
	uint64_t lines = geometry->size >> LINE_SHIFT;
	struct cache *cache;

	*error = NULL;
	if (!geometry->size || geometry->size % LINE_SIZE)
		*error = "the size is no multiple of the 64-byte line";
	else if (lines > RAM_LINES)
		*error = "larger than the 2 GiB of memory that are modelled";
	else if (geometry->ways > lines)
		*error = "more ways than lines";
	else if (geometry->ways && (lines % geometry->ways ||
				    !power_of_two(lines / geometry->ways)))
		*error = "size / (ways * 64), the number of sets, is not a power of two";
	if (*error)
		return NULL;

	cache = calloc(1, sizeof(*cache));
	if (!cache)
		goto no_memory;
	cache->fifo = geometry->fifo;
	cache->ways = geometry->ways;
	cache->capacity = lines;
	if (geometry->ways) {
		cache->set_mask = lines / geometry->ways - 1;
		cache->sets = table_new(lines, sizeof(*cache->sets));
		if (!cache->sets)
			goto no_memory;
	} else {
		cache->nodes = table_new(lines + 1, sizeof(*cache->nodes));
		cache->place = calloc(RAM_LINES, sizeof(*cache->place));
		if (!cache->nodes || !cache->place)
			goto no_memory;
	}
	cache_clear(cache);
	return cache;

no_memory:
	*error = "no memory for it";
	return NULL;
}

static entry_t *find_way(struct cache *cache, uint32_t line)
{
	entry_t *set = cache->sets + (uint64_t)(line & cache->set_mask) * cache->ways;

	for (unsigned int way = 0; way < cache->ways; way++) {
		if (entry_line(set[way]) == line)
			return set + way;
	}
	return NULL;
}

static void list_take(struct cache *cache, uint32_t place)
{
	struct node *node = cache->nodes + place;

	cache->nodes[node->prev].next = node->next;
	cache->nodes[node->next].prev = node->prev;
}

static void list_put_first(struct cache *cache, uint32_t place)
{
	struct node *head = cache->nodes, *node = head + place;

	node->prev = 0;
	node->next = head->next;
	head[head->next].prev = place;
	head->next = place;
}

static entry_t *find(struct cache *cache, uint32_t line)
{
	if (cache->ways)
		return find_way(cache, line);
	return cache->place[line] ? &cache->nodes[cache->place[line]].entry : NULL;
}

bool cache_lookup(struct cache *cache, uint32_t line, bool dirty)
{
	entry_t *found = find(cache, line), entry, *set;

	if (!found)
		return false;
	*found |= dirty;
	if (cache->fifo)
		return true;
	if (!cache->ways) {
		list_take(cache, cache->place[line]);
		list_put_first(cache, cache->place[line]);
		return true;
	}
	set = cache->sets + (uint64_t)(line & cache->set_mask) * cache->ways;
	entry = *found;
	for (; found > set; found--)
		found[0] = found[-1];
	*set = entry;
	return true;
}

static entry_t fill_full(struct cache *cache, entry_t entry)
{
	entry_t victim = NO_ENTRY;
	uint32_t place;

	if (cache->used < cache->capacity) {
		place = ++cache->used;
	} else {
		place = cache->nodes[0].prev;
		victim = cache->nodes[place].entry;
		list_take(cache, place);
		if (victim != NO_ENTRY)
			cache->place[entry_line(victim)] = 0;
	}
	cache->nodes[place].entry = entry;
	cache->place[entry_line(entry)] = place;
	list_put_first(cache, place);
	return victim;
}

entry_t cache_fill(struct cache *cache, uint32_t line, bool dirty)
{
	entry_t entry = line << 1 | dirty, *set, victim;
	unsigned int way;

	if (!cache->ways)
		return fill_full(cache, entry);
	set = cache->sets + (uint64_t)(line & cache->set_mask) * cache->ways;
	/* A hole, left by a removal, is filled before a line has to go */
	for (way = 0; way < cache->ways - 1 && set[way] != NO_ENTRY; way++)
		;
	victim = set[way];
	memmove(set + 1, set, way * sizeof(*set));
	*set = entry;
	return victim;
}

entry_t cache_remove(struct cache *cache, uint32_t line)
{
	entry_t *found = find(cache, line), entry;
	struct node *head = cache->nodes;
	uint32_t place;

	if (!found)
		return NO_ENTRY;
	entry = *found;
	*found = NO_ENTRY;
	if (!cache->ways) {
		/* An empty node is the next to be used: last in the list */
		place = cache->place[line];
		cache->place[line] = 0;
		list_take(cache, place);
		head[place].next = 0;
		head[place].prev = head->prev;
		head[head->prev].next = place;
		head->prev = place;
	}
	return entry;
}

entry_t cache_set_dirty(struct cache *cache, uint32_t line, bool dirty)
{
	entry_t *found = find(cache, line), was;

	if (!found)
		return NO_ENTRY;
	was = *found;
	*found = line << 1 | dirty;
	return was;
}

void cache_clear(struct cache *cache)
{
	if (cache->ways) {
		memset(cache->sets, 0xff, (uint64_t)cache->capacity * sizeof(*cache->sets));
		return;
	}
	for (uint32_t place = 1; place <= cache->used; place++) {
		if (cache->nodes[place].entry != NO_ENTRY)
			cache->place[entry_line(cache->nodes[place].entry)] = 0;
	}
	cache->used = 0;
	cache->nodes[0].entry = NO_ENTRY;
	cache->nodes[0].next = 0;
	cache->nodes[0].prev = 0;
}
