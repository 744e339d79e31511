// SPDX-License-Identifier: GPL-2.0
/*
 * Times buffered writes in user space, on the real CPU, as the kernel copies them with
 * vm.nontemporal_write 0 (plain), 2 (auto) and 3 (always): the tree's copy_to_nontemporal(), the
 * decision of mm/nontemporal_write.c, and the rest of a write() as work that takes as long. Page
 * frames are those of a pool of 512 MiB in random order; a piece of more than 4 KiB is in a folio of
 * its own.
 *
 * usage: folio list          the rows
 *        folio ROW ROUNDS    a line of JSON for each sample: copy, cycles for a write (of files: for
 *                            4 KiB), and the part that bypassed the caches; first what was measured
 *
 * In each round plain, auto, again and always take their turn. plain and again are the same: "rep
 * movsb".
 */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "tsc.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)
#define LINE	64UL
#define PAGE	(4 * KIB)
#define POOL	(512 * MIB)
#define SOURCE	MIB
#define WORK	1700	/* cycles of a write() of 4 KiB beside its copy, about */
#define WINDOW	25	/* jiffies */
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

size_t copy_to_nontemporal(void *dst, const void *src, size_t bytes);

/* What mm/nontemporal_write.c knows, with its names. Interrupts stay on when a load is timed */
#define PROBE_BYTES	(256 * KIB)
#define PROBES		2
#define PROBE_COPY	(16 * KIB)
static struct state {
	unsigned long since;
	unsigned int bytes, before, unprobed, cold;
} of_auto, of_always, *state;		/* NULL: plain */
static unsigned int plain_cycles, nontemporal_cycles;
static volatile unsigned int burst_bytes, min_bytes = 2048;
static unsigned int cold_cycles;
static volatile unsigned long jiffies = 1000;
static volatile bool init_on_alloc;

static uint8_t *pool, *source;
static uint32_t *order;			/* of the pool's pages */
static size_t next_page, next_block;
static uint64_t bypassed, copied;
static unsigned int work_loops;

static unsigned int load_cycles(const volatile uint8_t *at)
{
	uint64_t start;

	_mm_lfence();
	start = __rdtsc();
	_mm_lfence();
	(void)*at;
	_mm_lfence();
	start = __rdtsc() - start;
	_mm_lfence();
	return start;
}

static bool cold(const uint8_t *to, size_t bytes)
{
	unsigned int taken;

	state->unprobed += bytes < PROBE_BYTES ? bytes : PROBE_BYTES;
	if (state->unprobed >= PROBE_BYTES) {
		state->unprobed = 0;
		(void)*(const volatile uint8_t *)to;
		taken = load_cycles(to + bytes / 2);
		if (taken < cold_cycles / 4 * 3)
			state->cold = 0;
		else if (taken < cold_cycles * 16 && state->cold < PROBES)
			state->cold++;
	}
	return state->cold == PROBES;
}

static bool burst(size_t bytes)
{
	unsigned long age = jiffies - state->since;

	if (age >= WINDOW) {
		state->before = age < 2 * WINDOW ? state->bytes : 0;
		state->since = jiffies;
		state->bytes = 0;
	}
	state->bytes = state->bytes + bytes < 1UL << 30 ? state->bytes + bytes : 1UL << 30;
	return state->before + state->bytes > burst_bytes;
}

static void movsb(void *dst, const void *src, size_t bytes)
{
	asm volatile("rep movsb" : "+c" (bytes), "+D" (dst), "+S" (src) : : "memory");
}

/* A piece of a write, to a folio that has no data yet or that has */
static void __attribute__((noinline)) piece(uint8_t *to, const uint8_t *from, size_t bytes,
					    bool fresh)
{
	size_t head, lines;

	copied += bytes;
	if (!state || bytes < min_bytes || !fresh || init_on_alloc)
		return movsb(to, from, bytes);
	if ((state == &of_auto && nontemporal_cycles >= plain_cycles) || !burst(bytes) ||
	    !cold(to, bytes))
		return movsb(to, from, bytes);
	head = -(uintptr_t)to % LINE;
	lines = (bytes - head) / LINE * LINE;
	movsb(to, from, head);
	copy_to_nontemporal(to + head, from + head, lines);
	movsb(to + head + lines, from + head + lines, bytes - head - lines);
	bypassed += lines;
}

static unsigned int copy_cycles(bool nontemporal)
{
	unsigned int best = -1;

	for (int i = 0; i < 32; i++) {
		uint64_t start;

		for (size_t at = 0; at < PROBE_COPY; at += LINE)
			_mm_clflush(pool + at);
		_mm_mfence();
		start = cycles();
		if (nontemporal)
			copy_to_nontemporal(pool, source, PROBE_COPY);
		else
			movsb(pool, source, PROBE_COPY);
		start = cycles() - start;
		best = start < best ? start : best;
	}
	return best;
}

static void calibrate(void)
{
	cold_cycles = -1;
	for (int i = 0; i < 64; i++) {
		unsigned int taken;

		_mm_clflush(pool);
		_mm_mfence();
		taken = load_cycles(pool);
		cold_cycles = taken < cold_cycles ? taken : cold_cycles;
	}
	plain_cycles = copy_cycles(false);
	nontemporal_cycles = copy_cycles(true);
	printf("{\"miss\": %u, \"plain\": %u, \"nontemporal\": %u}\n", cold_cycles, plain_cycles,
	       nontemporal_cycles);
}

/* Two locked operations, and a chain of others */
static void work(void)
{
	static uint64_t lock;
	uint64_t x = 3;

	__atomic_fetch_add(&lock, 1, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < work_loops; i++)
		asm volatile("imul %0, %0" : "+r" (x));
	__atomic_fetch_add(&lock, 1, __ATOMIC_SEQ_CST);
}

static void make_work(void)
{
	uint64_t start, best = -1;

	work_loops = 1000;
	for (int i = 0; i < 100; i++) {
		start = cycles();
		work();
		start = cycles() - start;
		best = start < best ? start : best;
	}
	work_loops = work_loops * WORK / best;
}

/* Memory as the kernel maps the page cache: in large pages, as far as there are any */
static uint8_t *memory(size_t bytes)
{
	uint8_t *p = mmap(NULL, bytes + 2 * MIB, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(2, "mmap");
	p = (uint8_t *)(((uintptr_t)p + 2 * MIB - 1) & ~(2 * MIB - 1));
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 1, bytes);
	return p;
}

/* The pages of the pool, or its first ones again and again, of a file of so many bytes */
static uint8_t *page(size_t i)
{
	return pool + PAGE * order[i % (POOL / PAGE)];
}

/* A folio that is in no cache */
static uint8_t *folio(size_t bytes)
{
	size_t blocks = POOL / bytes;

	if (bytes <= PAGE)
		return page(next_page++);
	return pool + bytes * (order[next_block++] % blocks);
}

static const uint8_t *from(size_t at, size_t bytes)
{
	return source + at % (SOURCE - bytes + 1) / LINE * LINE % (bytes < 64 * KIB ? 64 * KIB : 1);
}

static uint64_t began;

static void start(void)
{
	began = cycles();
}

static double stop(size_t writes)
{
	return (double)(cycles() - began) / writes;
}

static void read_all(const uint8_t *at, size_t bytes)
{
	uint64_t total = 0;

	for (size_t i = 0; i < bytes; i += sizeof(total))
		total += *(const uint64_t *)(at + i);
	asm volatile("" : : "r" (total));
}

/* New folios of bytes each; zero: as the allocator may do; reads: none, at once, 20 us later */
enum { NOT, AT_ONCE, LATER };

static double new_folios(size_t bytes, bool zero, int reads)
{
	size_t writes = bytes < MIB / 4 ? MIB / bytes : 4;

	init_on_alloc = zero;
	start();
	for (size_t i = 0; i < writes; i++) {
		uint8_t *to = folio(bytes);

		work();
		if (zero) {
			void *at = to;
			size_t left = bytes;

			asm volatile("rep stosb" : "+c" (left), "+D" (at) : "a" (0) : "memory");
		}
		piece(to, from(i * bytes, bytes), bytes, true);
		if (reads == LATER)
			for (uint64_t end = __rdtsc() + 20 * 2600; __rdtsc() < end;)
				;
		if (reads)
			read_all(to, bytes);
	}
	return stop(writes);
}

static double fresh(size_t bytes)
{
	return new_folios(bytes, false, NOT);
}

static double zeroed(size_t bytes)
{
	return new_folios(bytes, true, NOT);
}

static double read_at_once(size_t bytes)
{
	return new_folios(bytes, false, AT_ONCE);
}

static double read_later(size_t bytes)
{
	return new_folios(bytes, false, LATER);
}

/* The same block again and again: the last page of a log */
static double rewritten(size_t bytes)
{
	size_t writes = bytes < 16 * KIB ? 256 : 4 * MIB / bytes;

	start();
	for (size_t i = 0; i < writes; i++) {
		work();
		piece(pool, from(i * bytes, bytes), bytes, false);
	}
	return stop(writes);
}

/* A file of so many bytes in the page cache, record after record */
static double rewritten_file(size_t bytes, size_t record)
{
	size_t at;

	for (int lap = 0; lap < 2; lap++) {
		start();
		for (at = 0; at < bytes; at += record) {
			work();
			for (size_t part = 0; part < record; part += PAGE)
				piece(page((at + part) / PAGE), from(at + part, PAGE),
				      record < PAGE ? record : PAGE, false);
		}
	}
	return stop(bytes / record);
}

static double rewritten_by_4k(size_t bytes)
{
	return rewritten_file(bytes, 4 * KIB);
}

static double rewritten_by_8k(size_t bytes)
{
	return rewritten_file(bytes, 8 * KIB);
}

/* 256 bytes to a file of 512 KiB: UnixBench's fstime, which ended the attempt of 2006 in 2009 */
static double fstime(size_t bytes)
{
	size_t at;

	start();
	for (at = 0; at < 512 * KIB; at += bytes) {
		work();
		piece(page(at / PAGE) + at % PAGE, from(at, bytes), bytes, false);
	}
	return stop(512 * KIB / bytes);
}

/* Records at the end of a file: only the first piece of a page finds it without data */
static double append(size_t bytes)
{
	size_t writes = MIB / bytes, used = 0;
	uint8_t *to = folio(PAGE);

	start();
	for (size_t i = 0; i < writes; i++) {
		work();
		for (size_t done = 0, n; done < bytes; done += n) {
			n = bytes - done < PAGE - used ? bytes - done : PAGE - used;
			piece(to + used, from(i * bytes, bytes) + done, n, !used);
			used += n;
			if (used == PAGE) {
				to = folio(PAGE);
				used = 0;
			}
		}
	}
	return stop(writes);
}

/* 8 KiB are written 16 times until they are full, then the next ones: a log of a database */
static double log_pages(size_t bytes)
{
	start();
	for (int i = 0; i < 16; i++) {
		uint8_t *to = folio(bytes);

		for (int j = 0; j < 16; j++) {
			work();
			piece(to, from(j * bytes, bytes), bytes, !j);
		}
	}
	return stop(16 * 16);
}

/* A file that fits into L2, a while after the last one, and what reads it */
static double small_file(size_t bytes)
{
	uint8_t *to[64];
	size_t n = bytes / (64 * KIB);

	jiffies += 2 * WINDOW;
	start();
	for (size_t i = 0; i < n; i++) {
		work();
		to[i] = folio(64 * KIB);
		piece(to[i], from(0, 64 * KIB), 64 * KIB, true);
	}
	for (size_t i = 0; i < n; i++)
		read_all(to[i], 64 * KIB);
	return stop(n);
}

/* A temporary file, removed and written anew: the same page frames, and what reads it */
static void write_recycled(size_t bytes, size_t first, bool read)
{
	for (size_t at = 0; at < bytes; at += PAGE) {
		work();
		piece(page(first + at / PAGE), from(at, PAGE), PAGE, true);
	}
	for (size_t at = 0; read && at < bytes; at += PAGE)
		read_all(page(first + at / PAGE), PAGE);
}

static double recycled(size_t bytes)
{
	write_recycled(bytes, 0, false);
	start();
	write_recycled(bytes, 0, false);
	return stop(bytes / PAGE);
}

static double recycled_and_read(size_t bytes)
{
	write_recycled(bytes, 0, true);
	start();
	write_recycled(bytes, 0, true);
	return stop(bytes / PAGE);
}

/* Page frames that are hot and cold by turns */
static double by_turns(size_t bytes)
{
	write_recycled(bytes, 0, false);
	start();
	for (int i = 0; i < 2; i++) {
		write_recycled(bytes, 0, false);
		next_page = next_page < POOL / PAGE / 4 ? POOL / PAGE / 4 : next_page;
		write_recycled(bytes, next_page, false);
		next_page += bytes / PAGE;
		if (next_page + bytes / PAGE > POOL / PAGE)
			next_page = 0;
	}
	return stop(4 * bytes / PAGE);
}

/* Files of 1 to 64 KiB as of an archive; each takes as much work as three writes */
static double small_files(size_t bytes, bool hot)
{
	size_t pages = bytes / PAGE, at = 0, files = 0;
	static uint64_t random;

	start();
	while (at < pages) {
		size_t size = KIB + (random = random * 6364136223846793005 + 1) % (63 * KIB);

		work();
		work();
		work();
		for (size_t done = 0, n; done < size && at < pages; done += n, at++) {
			n = size - done < PAGE ? size - done : PAGE;
			piece(hot ? page(at) : folio(PAGE), from(done, PAGE), n, true);
		}
		files++;
	}
	return stop(pages);
}

static double files_cold(size_t bytes)
{
	return small_files(bytes, false);
}

static double files_recycled(size_t bytes)
{
	small_files(bytes, true);
	return small_files(bytes, true);
}

static const struct {
	const char *name;
	double (*time)(size_t bytes);
	size_t sizes[12];
} rows[] = {
	{ "fresh", fresh, { 4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB } },
	{ "zeroed", zeroed, { 4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB } },
	{ "rewritten", rewritten, { 512, KIB, 4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB, 256 * KIB } },
	{ "rewritten_by_4k", rewritten_by_4k, { 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB } },
	{ "rewritten_by_8k", rewritten_by_8k, { 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB } },
	{ "append", append, { 512, 515, 701, 1001, 1049, 1337, 1999, 2050, 3001, 4099, 8195 } },
	{ "small_file", small_file, { 512 * KIB, MIB } },
	{ "recycled", recycled, { MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB } },
	{ "recycled_and_read", recycled_and_read, { MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB } },
	{ "by_turns", by_turns, { MIB, 4 * MIB } },
	{ "read_at_once", read_at_once, { 4 * KIB, 8 * KIB, 64 * KIB, MIB } },
	{ "read_later", read_later, { 4 * KIB, 8 * KIB, 64 * KIB, MIB } },
	{ "fstime", fstime, { 256 } },
	{ "log_pages", log_pages, { 8 * KIB } },
	{ "files_cold", files_cold, { 4 * MIB } },
	{ "files_recycled", files_recycled, { MIB, 4 * MIB } },
};

static const struct {
	const char *name;
	struct state *state;
} copies[] = { { "plain", NULL }, { "auto", &of_auto }, { "again", NULL }, { "always", &of_always } };

static void shuffle(void)
{
	size_t pages = POOL / PAGE;

	order = malloc(pages * sizeof(*order));
	if (!order)
		err(2, "malloc");
	for (size_t i = 0; i < pages; i++)
		order[i] = i;
	srandom(1);
	for (size_t i = pages - 1; i > 0; i--) {
		size_t j = random() % (i + 1);
		uint32_t t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
}

static void time_row(size_t row, size_t bytes, int rounds)
{
	pool = memory(POOL);
	source = memory(SOURCE);
	shuffle();
	make_work();
	calibrate();
	for (int round = -1; round < rounds; round++) {
		for (size_t i = 0; i < COUNT(copies); i++) {
			size_t c = (i + round + 1) % COUNT(copies);
			double taken;

			state = copies[c].state;
			bypassed = copied = 0;
			taken = rows[row].time(bytes);
			if (next_block >= POOL / PAGE / 2)
				next_block = 0;
			/* The first one is for nothing */
			if (round >= 0)
				printf("{\"copy\": \"%s\", \"cycles\": %.3f, \"bypassed\": %.4f}\n",
				       copies[c].name, taken, (double)bypassed / copied);
		}
	}
}

int main(int argc, char **argv)
{
	long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
	cpu_set_t cpu;
	char name[64];

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	burst_bytes = l2 > 0 ? l2 : (long)MIB;
	for (size_t row = 0; row < COUNT(rows); row++) {
		for (const size_t *size = rows[row].sizes; *size; size++) {
			snprintf(name, sizeof(name), "%s/%zu", rows[row].name, *size);
			if (argc == 2 && !strcmp(argv[1], "list")) {
				puts(name);
			} else if (argc == 3 && !strcmp(argv[1], name) && atoi(argv[2]) > 0) {
				time_row(row, *size, atoi(argv[2]));
				return 0;
			}
		}
	}
	if (argc == 2 && !strcmp(argv[1], "list"))
		return 0;
	errx(2, "usage: folio list | folio ROW ROUNDS");
}
