// SPDX-License-Identifier: GPL-2.0
/* Counting, and the table of instructions. */
#include "model.h"

#define BUCKETS	(1u << 16)
#define SITES	(1u << 15)	/* got at a time */

static struct site *buckets[BUCKETS];

struct label *counter_label(struct counter *counter, unsigned int number)
{
	struct label *label = counter->labels[number];

	if (!label) {
		label = memory_new(1, sizeof(*label));
		label->pages = memory_new(RAM_PAGES, sizeof(*label->pages));
		counter->labels[number] = label;
	}
	return label;
}

struct site *counter_site(struct counter *counter, uint64_t vaddr, bool nt)
{
	struct site **link = &buckets[(vaddr ^ vaddr >> 16) % BUCKETS], *site;
	static struct site *next, *last;

	/* Sorted by address: the output does not depend on the order of translation */
	for (; *link && ((*link)->vaddr < vaddr || ((*link)->vaddr == vaddr && (*link)->nt <= nt));
	     link = &(*link)->next) {
		if ((*link)->vaddr == vaddr && (*link)->nt == nt)
			return *link;
	}
	if (next == last) {
		next = memory_new(SITES, sizeof(*next));
		last = next + SITES;
	}
	site = next++;
	site->vaddr = vaddr;
	site->nt = nt;
	for (int i = 0; i < counter->n_ranges; i++) {
		const struct range *range = &counter->ranges[i];

		if (vaddr >= range->start && vaddr < range->end)
			site->ranges |= 1ull << range->label;
	}
	site->next = *link;
	*link = site;
	return site;
}

/* Make now the tally of these labels */
static void change(struct site *site, uint64_t mask)
{
	struct tally **link = &site->now.next, *tally, other;

	while (*link && (*link)->mask != mask)
		link = &(*link)->next;
	tally = *link;
	if (tally) {
		*link = tally->next;
	} else {
		tally = memory_new(1, sizeof(*tally));
		tally->mask = mask;
	}
	/* Change places: what was now comes first of the others */
	other = *tally;
	*tally = site->now;
	site->now = other;
	site->now.next = tally;
}

void counter_access(struct counter *counter, uint64_t mask, struct site *site, uint64_t first,
		    uint64_t last, enum access access, unsigned int missed, unsigned int writebacks)
{
	uint32_t line = first >> LINE_SHIFT;
	uint16_t quads = (2u << last % LINE_SIZE / 4) - (1u << first % LINE_SIZE / 4);

	if (site->now.mask != mask)
		change(site, mask);
	site->now.n[__builtin_popcount(missed) * ACCESSES + access]++;
	site->now.n[COUNTS - 1] += writebacks;
	for (; mask; mask &= mask - 1) {
		struct label *label = counter_label(counter, __builtin_ctzll(mask));
		struct page *page = &label->pages[line / 64];

		if (!page->quads)
			page->quads = memory_new(1, sizeof(*page->quads));
		page->touched |= 1ull << line % 64;
		(access == LOAD ? page->quads->loaded : page->quads->stored)[line % 64] |= quads;
		for (unsigned int bits = missed; bits; bits &= bits - 1)
			page->missed[__builtin_ctz(bits)]++;
	}
}

void counter_data(struct counter *counter, uint64_t mask, uint64_t address, enum access access,
		  unsigned int missed)
{
	uint64_t at = (address - counter->data_start) / 8;

	if (address < counter->data_start || address >= counter->data_end)
		return;
	if (access != LOAD && counter->begun)
		counter->stored[at] = true;
	for (; mask; mask &= mask - 1) {
		struct label *label = counter_label(counter, __builtin_ctzll(mask));

		if (!label->words)
			label->words = memory_new((counter->data_end - counter->data_start) / 8 + 1,
						  sizeof(*label->words));
		label->words[at].loads += access == LOAD;
		label->words[at].stores += access != LOAD;
		label->words[at].missed += missed >> L1D & 1;
	}
}

static void write_numbers(const uint64_t *numbers, int n, FILE *file)
{
	for (int i = 0; i < n; i++)
		fprintf(file, ",%lu", numbers[i]);
	fprintf(file, "]");
}

static void write_array(const char *name, const uint64_t *numbers, int n, FILE *file)
{
	fprintf(file, ", \"%s\": [%lu", name, numbers[0]);
	write_numbers(numbers + 1, n - 1, file);
}

bool counter_object(struct counter *counter, uint8_t kind, uint32_t line)
{
	if (counter->n_objects == OBJECTS)
		return false;
	counter->objects[counter->n_objects++] = (struct object) { kind, line, 1 };
	return true;
}

bool counter_last(struct counter *counter, uint32_t line)
{
	struct object *object = &counter->objects[counter->n_objects - 1];

	object->lines = line - object->line + 1;
	/* Threads share some: told again, it is no second one */
	for (struct object *other = counter->objects; other < object; other++) {
		if (other->kind == object->kind && other->line == object->line) {
			counter->n_objects--;
			break;
		}
	}
	return line >= object->line && object->lines <= OBJECT_LINES;
}

/*
 * "KIND": {"objects": how many were touched, and by place in the object in how many of them:
 * "touched": each line, "loaded", "stored": each four bytes}
 */
static void write_objects(const struct counter *counter, const struct label *label, FILE *file)
{
	const char *comma = "";

	for (int kind = 0; kind < KINDS; kind++) {
		uint64_t touched[OBJECT_LINES] = {}, loaded[OBJECT_LINES * LINE_QUADS] = {};
		uint64_t stored[OBJECT_LINES * LINE_QUADS] = {};
		uint32_t lines = 0, objects = 0;
		bool any;

		for (unsigned int i = 0; i < counter->n_objects; i++) {
			const struct object *object = &counter->objects[i];

			if (object->kind != kind)
				continue;
			lines = object->lines > lines ? object->lines : lines;
			any = false;
			for (uint32_t at = 0; at < object->lines; at++) {
				uint32_t line = object->line + at;
				const struct page *page = &label->pages[line / 64];

				if (!(page->touched >> line % 64 & 1))
					continue;
				any = true;
				touched[at]++;
				for (unsigned int i = 0; i < LINE_QUADS; i++) {
					loaded[LINE_QUADS * at + i] +=
						page->quads->loaded[line % 64] >> i & 1;
					stored[LINE_QUADS * at + i] +=
						page->quads->stored[line % 64] >> i & 1;
				}
			}
			objects += any;
		}
		if (!objects)
			continue;
		fprintf(file, "%s\"%d\": {\"objects\": %u", comma, kind, objects);
		write_array("touched", touched, lines, file);
		write_array("loaded", loaded, LINE_QUADS * lines, file);
		write_array("stored", stored, LINE_QUADS * lines, file);
		fprintf(file, "}");
		comma = ",";
	}
}

/* "KIND": [lines touched, misses in each level] */
static void write_kinds(const struct counter *counter, const struct label *label, FILE *file)
{
	uint64_t lines[KINDS] = {}, missed[KINDS][LEVELS] = {};
	const char *comma = "";

	for (uint64_t page = 0; page < RAM_PAGES; page++) {
		uint8_t kind = counter->kinds[page];

		if (!label->pages[page].touched)
			continue;
		lines[kind] += __builtin_popcountll(label->pages[page].touched);
		for (int i = 0; i < LEVELS; i++)
			missed[kind][i] += label->pages[page].missed[i];
	}
	for (int kind = 0; kind < KINDS; kind++) {
		if (!lines[kind])
			continue;
		fprintf(file, "%s\"%d\": [%lu", comma, kind, lines[kind]);
		write_numbers(missed[kind], LEVELS, file);
		comma = ",";
	}
}

/* [address, loads, stores, misses in L1D, whether it was ever stored] for each word */
static void write_words(const struct counter *counter, const struct label *label, FILE *file)
{
	const char *comma = "";

	for (uint64_t at = 0; at < (counter->data_end - counter->data_start) / 8; at++) {
		const struct word *word = &label->words[at];

		if (!word->loads && !word->stores)
			continue;
		fprintf(file, "%s[%lu,%u,%u,%u,%d]", comma, counter->data_start + 8 * at,
			word->loads, word->stores, word->missed, counter->stored[at]);
		comma = ",";
	}
}

static void write_geometry(const struct machine *machine, FILE *file)
{
	for (enum level level = L1D; level < LEVELS; level++) {
		const struct geometry *geometry = &machine->geometry[level];

		fprintf(file, "\"%s\": {\"size\": %lu, \"ways\": ", level_names[level],
			geometry->size);
		fprintf(file, geometry->ways ? "%u}, " : "\"full\"}, ", geometry->ways);
	}
	fprintf(file, "\"line\": %u, \"cpus\": %d},\n", LINE_SIZE, machine->cpus);
}

/* For each tally [address, mask of the labels, COUNTS numbers]; returns all accesses */
static uint64_t write_site(const struct site *site, FILE *file)
{
	const struct tally *tally;
	uint64_t accesses = 0;

	for (tally = &site->now; tally; tally = tally->next) {
		for (int i = 0; i < COUNTS - 1; i++)
			accesses += tally->n[i];
		if (!tally->mask)
			continue;
		fprintf(file, "[%lu,%lu", site->vaddr, tally->mask);
		write_numbers(tally->n, COUNTS, file);
		fprintf(file, ",\n");
	}
	return accesses;
}

void counter_write(struct counter *counter, const struct machine *machine, FILE *file)
{
	const char *comma = "";
	uint64_t accesses = 0;

	fprintf(file, "{\"geometry\": {");
	write_geometry(machine, file);
	fprintf(file, "\"left_out\": {\"io\": %lu, \"beyond_2GiB\": %lu, \"second_page\": %lu},\n",
		counter->io, counter->beyond, counter->crossing);
	fprintf(file, "\"labels\": {");
	for (unsigned int number = 0; number < LABELS; number++) {
		const struct label *label = counter->labels[number];

		if (!label)
			continue;
		fprintf(file, "%s\n \"%u\": {\"begun\": %lu, \"ended\": %lu, \"unbalanced\": %lu,",
			comma, number, label->begun, label->ended, label->unbalanced);
		fprintf(file, " \"units\": %lu, \"instructions\": %lu,\n  \"kinds\": {",
			label->units, label->instructions);
		write_kinds(counter, label, file);
		fprintf(file, "}, \"objects\": {");
		write_objects(counter, label, file);
		fprintf(file, "}, \"words\": [");
		if (label->words)
			write_words(counter, label, file);
		fprintf(file, "]}");
		comma = ",";
	}
	fprintf(file, "},\n\"sites\": [");
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (struct site *site = buckets[i]; site; site = site->next)
			accesses += write_site(site, file);
	fprintf(file, "[]],\n\"accesses\": %lu}\n", accesses);
}
