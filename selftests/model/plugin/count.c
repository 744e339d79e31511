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

void counter_access(struct counter *counter, uint64_t mask, struct site *site, uint32_t line,
		    enum access access, unsigned int missed, unsigned int writebacks)
{
	if (site->now.mask != mask)
		change(site, mask);
	site->now.n[__builtin_popcount(missed & ((1u << LEVELS) - 1)) * ACCESSES + access]++;
	site->now.n[COUNTS - 1] += writebacks;
	for (; mask; mask &= mask - 1) {
		struct label *label = counter_label(counter, __builtin_ctzll(mask));
		struct page *page = &label->pages[line / 64];

		page->touched |= 1ull << line % 64;
		for (unsigned int bits = missed; bits; bits &= bits - 1)
			page->missed[__builtin_ctz(bits)]++;
	}
}

static void write_numbers(const uint64_t *numbers, int n, FILE *file)
{
	for (int i = 0; i < n; i++)
		fprintf(file, ",%lu", numbers[i]);
	fprintf(file, "]");
}

/* "KIND": [lines touched, misses in each level, misses in each further cache] */
static void write_kinds(const struct counter *counter, int caches, const struct label *label,
			FILE *file)
{
	uint64_t lines[KINDS] = {}, missed[KINDS][LEVELS + MAX_FURTHER] = {};
	const char *comma = "";

	for (uint64_t page = 0; page < RAM_PAGES; page++) {
		uint8_t kind = counter->kinds[page];

		if (!label->pages[page].touched)
			continue;
		lines[kind] += __builtin_popcountll(label->pages[page].touched);
		for (int i = 0; i < caches; i++)
			missed[kind][i] += label->pages[page].missed[i];
	}
	for (int kind = 0; kind < KINDS; kind++) {
		if (!lines[kind])
			continue;
		fprintf(file, "%s\"%d\": [%lu", comma, kind, lines[kind]);
		write_numbers(missed[kind], caches, file);
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
	for (int i = 0; i < machine->n_further; i++)
		fprintf(file, "%s\"%s\"%s", i ? ", " : "\"further\": [", machine->further[i].name,
			i + 1 < machine->n_further ? "" : "], ");
	fprintf(file, "\"line\": %u, \"policy\": \"%s\", \"nt\": \"%s\", \"cpus\": %d},\n",
		LINE_SIZE, machine->fifo ? "fifo" : "lru", machine->nt_keep ? "keep" : "evict",
		machine->cpus);
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
		write_kinds(counter, LEVELS + machine->n_further, label, file);
		fprintf(file, "}}");
		comma = ",";
	}
	fprintf(file, "},\n\"sites\": [");
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (struct site *site = buckets[i]; site; site = site->next)
			accesses += write_site(site, file);
	fprintf(file, "[]],\n\"accesses\": %lu}\n", accesses);
}
