// SPDX-License-Identifier: GPL-2.0
/* Counting, and the table of instructions. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "count.h"
#include "memory.h"

#define BUCKETS	(1u << 16)
#define SITES	(1u << 15)	/* got at a time */

static struct site *buckets[BUCKETS];

static void no_memory(void)
{
	fprintf(stderr, "cachemodel: no memory for the counts\n");
	_exit(1);
}

static void *get_memory(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		no_memory();
	return memory;
}

static void *get_table(size_t n, size_t size)
{
	void *table = table_new(n, size);

	if (!table)
		no_memory();
	return table;
}

static struct site *new_site(void)
{
	static struct site *next, *last;

	if (next == last) {
		next = get_table(SITES, sizeof(*next));
		last = next + SITES;
	}
	return next++;
}

void counter_init(struct counter *counter)
{
	counter->kinds = get_table(RAM_PAGES, sizeof(*counter->kinds));
}

struct label *counter_new_label(struct counter *counter, unsigned int number)
{
	struct label *label = get_memory(1, sizeof(*label));

	label->pages = get_table(RAM_PAGES, sizeof(*label->pages));
	label->further = get_table(RAM_PAGES, sizeof(*label->further));
	label->touched = get_table(RAM_LINES / 64, sizeof(*label->touched));
	counter->labels[number] = label;
	return label;
}

struct site *counter_site(struct counter *counter, uint64_t vaddr, bool nt)
{
	struct site **bucket = &buckets[(vaddr ^ vaddr >> 16) % BUCKETS], *site;
	int i;

	for (site = *bucket; site; site = site->next) {
		if (site->vaddr == vaddr && site->nt == nt)
			return site;
	}
	site = new_site();
	site->vaddr = vaddr;
	site->nt = nt;
	for (i = 0; i < counter->n_ranges; i++) {
		const struct range *range = &counter->ranges[i];

		if (vaddr >= range->start && vaddr < range->end)
			site->ranges |= 1ull << range->label;
	}
	site->next = *bucket;
	*bucket = site;
	return site;
}

void counter_change(struct site *site, uint64_t mask)
{
	struct tally **link = &site->now.next, *tally, other;

	while (*link && (*link)->mask != mask)
		link = &(*link)->next;
	tally = *link;
	if (tally) {
		*link = tally->next;
	} else {
		tally = get_memory(1, sizeof(*tally));
		tally->mask = mask;
	}
	/* Change places: what was now comes first of the others */
	other = *tally;
	*tally = site->now;
	site->now = other;
	site->now.next = tally;
}

static void add(struct counts *to, const struct counts *from)
{
	for (int missed = 0; missed <= LEVELS; missed++)
		for (int access = 0; access < ACCESSES; access++)
			to->n[missed][access] += from->n[missed][access];
	to->writebacks += from->writebacks;
}

/* What one instruction counted for a label; whether that is anything */
static bool site_counts(const struct site *site, unsigned int number,
			struct counts *counts)
{
	const struct tally *tally;
	bool any = false;

	memset(counts, 0, sizeof(*counts));
	for (tally = &site->now; tally; tally = tally->next) {
		if (!(tally->mask >> number & 1))
			continue;
		add(counts, &tally->counts);
		any = true;
	}
	return any;
}

/* How many accesses missed in a level and those before it */
static uint64_t misses(const struct counts *counts, enum access access,
		       unsigned int level)
{
	uint64_t sum = 0;

	for (unsigned int missed = level + 1; missed <= LEVELS; missed++)
		sum += counts->n[missed][access];
	return sum;
}

static uint64_t accesses(const struct counts *counts, enum access access)
{
	return counts->n[0][access] + misses(counts, access, 0);
}

static void write_counts(const struct counts *counts, FILE *file)
{
	fprintf(file, "[%lu,%lu,%lu", accesses(counts, LOAD),
		accesses(counts, STORE), accesses(counts, STORE_NT));
	for (int access = LOAD; access <= STORE; access++)
		for (int level = L1D; level < LEVELS; level++)
			fprintf(file, ",%lu", misses(counts, access, level));
	fprintf(file, ",%lu]", counts->writebacks);
}

static int by_address(const void *left, const void *right)
{
	const struct site *a = *(struct site **)left, *b = *(struct site **)right;

	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return a->nt - b->nt;
}

static struct site **sorted_sites(size_t *n)
{
	struct site **sites, *site;

	*n = 0;
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (site = buckets[i]; site; site = site->next)
			++*n;
	sites = get_memory(*n + 1, sizeof(*sites));
	*n = 0;
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (site = buckets[i]; site; site = site->next)
			sites[(*n)++] = site;
	qsort(sites, *n, sizeof(*sites), by_address);
	return sites;
}

static void write_numbers(const uint64_t *numbers, int n, FILE *file)
{
	for (int i = 0; i < n; i++)
		fprintf(file, "%s%lu", i ? "," : "[", numbers[i]);
	fprintf(file, "]");
}

static void write_kinds(const struct counter *counter, int n_further,
			const struct label *label, FILE *file)
{
	uint64_t lines[KINDS] = {}, sums[KINDS][LEVELS] = {};
	uint64_t further[KINDS][MAX_FURTHER] = {};
	const char *comma = "";

	for (uint64_t page = 0; page < RAM_PAGES; page++) {
		uint8_t kind = counter->kinds[page];

		if (!label->touched[page])
			continue;
		lines[kind] += __builtin_popcountll(label->touched[page]);
		for (int i = 0; i < n_further; i++)
			further[kind][i] += label->further[page].n[i];
		for (int level = 0; level < LEVELS; level++)
			sums[kind][level] += label->pages[page].n[level];
	}
	fprintf(file, " \"kinds\": {");
	for (int kind = 0; kind < KINDS; kind++) {
		if (!lines[kind])
			continue;
		fprintf(file, "%s\"%d\": [%lu,%lu,%lu,%lu]", comma, kind,
			lines[kind], sums[kind][L1D], sums[kind][L2],
			sums[kind][LLC]);
		comma = ",";
	}
	fprintf(file, "}");
	if (!n_further)
		return;
	fprintf(file, ",\n \"further\": {");
	comma = "";
	for (int kind = 0; kind < KINDS; kind++) {
		if (!lines[kind])
			continue;
		fprintf(file, "%s\"%d\": ", comma, kind);
		write_numbers(further[kind], n_further, file);
		comma = ",";
	}
	fprintf(file, "}");
}

static void write_label(struct counter *counter, unsigned int number,
			int n_further, struct site **sites, size_t n, FILE *file)
{
	const struct label *label = counter->labels[number];
	const char *comma = "";
	struct counts counts, all = {};

	for (size_t i = 0; i < n; i++) {
		if (site_counts(sites[i], number, &counts))
			add(&all, &counts);
	}
	fprintf(file, "\"%u\": {\"begun\": %lu, \"ended\": %lu, \"unbalanced\": %lu, \"units\": %lu,\n",
		number, label->begun, label->ended, label->unbalanced,
		label->units);
	fprintf(file, " \"executed\": {");
	for (int i = 0; i < counter->n_executed; i++)
		fprintf(file, "%s\"%s\": %lu", i ? "," : "",
			counter->executed[i].name, label->executed[i]);
	fprintf(file, "},\n \"counts\": ");
	write_counts(&all, file);
	fprintf(file, ",\n");
	write_kinds(counter, n_further, label, file);
	fprintf(file, ",\n \"sites\": {");
	for (size_t i = 0; i < n; i++) {
		if (!site_counts(sites[i], number, &counts))
			continue;
		fprintf(file, "%s\n  \"%lx%s\": ", comma, sites[i]->vaddr,
			sites[i]->nt ? "nt" : "");
		write_counts(&counts, file);
		comma = ",";
	}
	fprintf(file, "}}");
}

static void write_size_and_ways(const struct geometry *geometry, FILE *file)
{
	fprintf(file, "\"size\": %lu, \"ways\": ", geometry->size);
	if (geometry->ways)
		fprintf(file, "%u}", geometry->ways);
	else
		fprintf(file, "\"full\"}");
}

static void write_geometry(const char *name, const struct geometry *geometry,
			   FILE *file)
{
	fprintf(file, "\"%s\": {", name);
	write_size_and_ways(geometry, file);
	fprintf(file, ", ");
}

static void write_further(const struct machine *machine, FILE *file)
{
	for (int i = 0; i < machine->n_further; i++) {
		const struct further *further = &machine->further[i];

		fprintf(file, "%s{\"level\": \"%s\", ", i ? ", " : "\"further\": [",
			further->level == L1D ? "l1d" : "l2");
		write_size_and_ways(&further->geometry, file);
	}
	if (machine->n_further)
		fprintf(file, "], ");
}

void counter_write(struct counter *counter, const struct machine *machine,
		   FILE *file)
{
	const char *comma = "";
	struct counts all = {};
	struct site **sites;
	size_t n;

	sites = sorted_sites(&n);
	fprintf(file, "{\"geometry\": {");
	write_geometry("l1d", &machine->geometry[L1D], file);
	write_geometry("l2", &machine->geometry[L2], file);
	write_geometry("llc", &machine->geometry[LLC], file);
	write_further(machine, file);
	fprintf(file, "\"line\": %u, \"policy\": \"%s\", \"nt\": \"%s\", \"cpus\": %d},\n",
		LINE_SIZE, machine->geometry[LLC].fifo ? "fifo" : "lru",
		machine->nt_keep ? "keep" : "evict", machine->cpus);
	for (size_t i = 0; i < n; i++)
		for (const struct tally *tally = &sites[i]->now; tally; tally = tally->next)
			add(&all, &tally->counts);
	fprintf(file, "\"all\": ");
	write_counts(&all, file);
	fprintf(file, ",\n\"left_out\": {\"io\": %lu, \"beyond_2GiB\": %lu, \"second_page\": %lu},\n\"labels\": {",
		counter->io, counter->beyond, counter->crossing);
	for (unsigned int number = 0; number < LABELS; number++) {
		if (!counter->labels[number])
			continue;
		fprintf(file, "%s\n", comma);
		write_label(counter, number, machine->n_further, sites, n, file);
		comma = ",";
	}
	fprintf(file, "}}\n");
	free(sites);
}
