// SPDX-License-Identifier: GPL-2.0
/*
 * Times buffered writes in user space, on the real CPU, as the kernel copies them with
 * vm.nontemporal_write 0 (plain) and 2, with the default minimum and with one of 512 bytes
 * (always): the tree's copy_lines_nontemporal(), the decision of mm/filemap.c, and the rest of a
 * write() as work that takes as long. Page frames are those of a pool of 512 MiB in random order;
 * a piece of more than 4 KiB is in a folio of its own.
 *
 * usage: folio list          the rows
 *        folio ROW ROUNDS    a line of JSON for each sample: copy, cycles for a write (of files: for
 *                            4 KiB; of bystanders: for a line), the part that bypassed the caches
 *
 * In each round plain, default, again and always take their turn. plain and again are the same:
 * "rep movsb".
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
#include <x86intrin.h>

#include "tsc.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)
#define LINE	64UL
#define PAGE	(4 * KIB)
#define POOL	(512 * MIB)
#define SOURCE	MIB
#define STREAM	(64 * MIB)
#define WORK	1700	/* cycles of a write() of 4 KiB beside its copy, about */
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

size_t copy_lines_nontemporal(void *to, const void *from, size_t bytes);

/* The minimum of a copy's write; DEFAULT_MIN is the kernel's own */
static const struct {
	const char *name;
	size_t least;
} copies[] = { { "plain", -1 }, { "default", DEFAULT_MIN }, { "again", -1 }, { "always", 512 } };

static size_t least;
static bool nontemporal;		/* of the write that goes on */
static uint8_t *pool, *source, *walked;
static uint32_t *order;			/* of the pool's pages */
static size_t next_page, next_block;
static uint64_t bypassed, copied;
static unsigned int work_loops;

static void movsb(void *dst, const void *src, size_t bytes)
{
	asm volatile("rep movsb" : "+c" (bytes), "+D" (dst), "+S" (src) : : "memory");
}

/* What else a write() does: two locked operations, and a chain of others */
static void work(void)
{
	static uint64_t lock;
	uint64_t x = 3;

	__atomic_fetch_add(&lock, 1, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < work_loops; i++)
		asm volatile("imul %0, %0" : "+r" (x));
	__atomic_fetch_add(&lock, 1, __ATOMIC_SEQ_CST);
}

/* A write of so many bytes begins */
static void begin_write(size_t bytes)
{
	nontemporal = bytes >= least;
	work();
}

/* A piece of its data, up to the fence of the folio */
static void lines(uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t head = -(uintptr_t)to % LINE, whole = (bytes - head) / LINE * LINE;

	movsb(to, from, head);
	copy_lines_nontemporal(to + head, from + head, whole);
	movsb(to + head + whole, from + head + whole, bytes - head - whole);
	bypassed += whole;
}

/* Its data to a folio, which has no data yet or has; of the kernel's pages if by_page */
static void __attribute__((noinline)) to_folio(uint8_t *to, const uint8_t *from, size_t bytes,
					       bool fresh, bool by_page)
{
	size_t n, at;

	copied += bytes;
	for (at = 0; at < bytes; at += n) {
		n = by_page ? PAGE : bytes;
		if (nontemporal && fresh && bytes >= 2 * LINE)
			lines(to + at, from + at, n);
		else
			movsb(to + at, from + at, n);
	}
	if (nontemporal && fresh)
		_mm_sfence();
}

static void piece(uint8_t *to, const uint8_t *from, size_t bytes, bool fresh)
{
	to_folio(to, from, bytes, fresh, false);
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

/* The pages of the pool, again and again */
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
	return pool + bytes * (order[next_block++ % (POOL / PAGE)] % blocks);
}

/* It stays in the caches: 64 KiB, or the start for larger pieces */
static const uint8_t *from(size_t at, size_t bytes)
{
	return source + (bytes < 64 * KIB ? at / LINE * LINE % (64 * KIB) : 0);
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

/* New folios, each read at once or not */
static double new_folios(size_t bytes, bool read)
{
	size_t writes = bytes < MIB / 4 ? MIB / bytes : 4;

	start();
	for (size_t i = 0; i < writes; i++) {
		uint8_t *to = folio(bytes);

		begin_write(bytes);
		piece(to, from(i * bytes, bytes), bytes, true);
		if (read)
			read_all(to, bytes);
	}
	return stop(writes);
}

static double fresh(size_t bytes)
{
	return new_folios(bytes, false);
}

static double read_at_once(size_t bytes)
{
	return new_folios(bytes, true);
}

/* New folios in the order of a ring of frames, a stream after as much of it */
static void write_stream(size_t frames, size_t bytes, bool by_page)
{
	static size_t at;

	for (size_t done = 0; done < STREAM; done += bytes, at += bytes) {
		begin_write(bytes);
		to_folio(pool + at % frames, from(done, bytes), bytes, true, by_page);
	}
}

static double time_stream(size_t frames, size_t bytes, bool by_page)
{
	write_stream(frames, bytes, by_page);
	start();
	write_stream(frames, bytes, by_page);
	return stop(STREAM / bytes);
}

static double stream(size_t bytes)
{
	return time_stream(POOL, bytes, false);
}

static double stream_pages(size_t bytes)
{
	return time_stream(POOL, bytes, true);
}

static double ring(size_t frames)
{
	return time_stream(frames, 64 * KIB, false);
}

/* A walk in random order through memory that was walked before a stream of writes */
static double bystander(size_t bytes, size_t set)
{
	size_t n = set / LINE;
	void **p = (void **)walked;

	for (size_t i = 0; i < n; i++)		/* once round, in no order that a CPU predicts */
		*(void **)(walked + LINE * i) = walked + LINE * ((5 * i + 1) % n);
	for (size_t i = 0; i < 2 * n; i++)
		p = *(void **volatile *)p;
	write_stream(POOL, bytes, false);
	start();
	for (size_t i = 0; i < n; i++)
		p = *(void **volatile *)p;
	return stop(n);
}

static double bystander_32k(size_t bytes)
{
	return bystander(bytes, 32 * KIB);
}

static double bystander_256k(size_t bytes)
{
	return bystander(bytes, 256 * KIB);
}

static double bystander_2m(size_t bytes)
{
	return bystander(bytes, 2 * MIB);
}

/* The same block again and again: the last page of a log */
static double rewritten(size_t bytes)
{
	size_t writes = bytes < 16 * KIB ? 256 : 4 * MIB / bytes;

	start();
	for (size_t i = 0; i < writes; i++) {
		begin_write(bytes);
		piece(pool, from(i * bytes, bytes), bytes, false);
	}
	return stop(writes);
}

/* 256 bytes to a file of 512 KiB: UnixBench's fstime, which ended the attempt of 2006 in 2009 */
static double fstime(size_t bytes)
{
	size_t at;

	start();
	for (at = 0; at < 512 * KIB; at += bytes) {
		begin_write(bytes);
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
		begin_write(bytes);
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
			begin_write(bytes);
			piece(to, from(j * bytes, bytes), bytes, !j);
		}
	}
	return stop(16 * 16);
}

/* A temporary file, removed and written anew: the same page frames, and what reads it */
static double write_recycled(size_t bytes, bool read)
{
	for (int lap = 0; lap < 2; lap++) {
		start();
		for (size_t at = 0; at < bytes; at += PAGE) {
			begin_write(PAGE);
			piece(page(at / PAGE), from(at, PAGE), PAGE, true);
		}
		for (size_t at = 0; read && at < bytes; at += PAGE)
			read_all(page(at / PAGE), PAGE);
	}
	return stop(bytes / PAGE);
}

static double recycled(size_t bytes)
{
	return write_recycled(bytes, false);
}

static double recycled_and_read(size_t bytes)
{
	return write_recycled(bytes, true);
}

/* Files of 1 to 64 KiB as of an archive; each takes as much work as three writes */
static double files_cold(size_t bytes)
{
	size_t pages = bytes / PAGE, at = 0;
	static uint64_t random;

	start();
	while (at < pages) {
		size_t size = KIB + (random = random * 6364136223846793005 + 1) % (63 * KIB);

		work();
		work();
		begin_write(size);
		for (size_t done = 0, n; done < size && at < pages; done += n, at++) {
			n = size - done < PAGE ? size - done : PAGE;
			piece(folio(PAGE), from(done, PAGE), n, true);
		}
	}
	return stop(pages);
}

static const struct {
	const char *name;
	double (*time)(size_t bytes);
	size_t sizes[8];
} rows[] = {
	{ "fresh", fresh, { 4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB } },
	{ "stream", stream, { 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB } },
	{ "stream_pages", stream_pages, { 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB } },
	{ "bystander_32k", bystander_32k, { 4 * KIB, 64 * KIB, MIB } },
	{ "bystander_256k", bystander_256k, { 4 * KIB, 64 * KIB, 256 * KIB, MIB } },
	{ "bystander_2m", bystander_2m, { 4 * KIB, 64 * KIB, MIB } },
	{ "ring", ring, { 2 * MIB, 4 * MIB, 8 * MIB } },
	{ "read_at_once", read_at_once, { 4 * KIB, 8 * KIB, 64 * KIB, MIB } },
	{ "recycled", recycled, { MIB, 4 * MIB, 16 * MIB } },
	{ "recycled_and_read", recycled_and_read, { MIB, 4 * MIB, 16 * MIB } },
	{ "files_cold", files_cold, { 4 * MIB } },
	{ "log_pages", log_pages, { 8 * KIB } },
	{ "append", append, { 512, 1001, 4099, 8195 } },
	{ "rewritten", rewritten, { 512, 4 * KIB, 64 * KIB, MIB } },
	{ "fstime", fstime, { 256 } },
};

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
	walked = memory(2 * MIB);
	shuffle();
	make_work();
	for (int round = -1; round < rounds; round++) {
		for (size_t i = 0; i < COUNT(copies); i++) {
			size_t c = (i + round + 1) % COUNT(copies);
			double taken;

			least = copies[c].least;
			bypassed = copied = 0;
			taken = rows[row].time(bytes);
			/* The first one is for nothing */
			if (round >= 0)
				printf("{\"copy\": \"%s\", \"cycles\": %.3f, \"bypassed\": %.4f}\n",
				       copies[c].name, taken, (double)bypassed / copied);
		}
	}
}

int main(int argc, char **argv)
{
	cpu_set_t cpu;
	char name[64];

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
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
