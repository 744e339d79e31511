// SPDX-License-Identifier: GPL-2.0
/*
 * Times copies to the page cache in user space, on the real CPU: the kernel's own routines,
 * assembled unchanged, and others. What is written, to where, and what is read around it is what
 * buffered writes of large files do.
 *
 * usage: stream MEASURE ROUNDS
 *   rate      64 MiB from a hot buffer to memory in no cache, in pieces of 512 bytes to 64 MiB
 *   victim    a walk along a chain of pointers through 32 KiB to 32 MiB: warm, and after 64 MiB
 *             were written
 *   victim4   the same after 4 MiB: in a short time others on the machine do less to the caches
 *   again     512 bytes to 64 MiB that are written over and over: hot as long as they fit
 *   readback  the same sizes, written to cold memory and then read
 *
 * A line of JSON for each sample: copy, bytes, cycles of the time-stamp counter, in "victim" for
 * each pointer, else for 64 bytes. In each round all copies take their turn; "fsrm" has two,
 * "fsrm" and "fsrm_again": the difference is the machine's noise. For the walks "idle" has a turn:
 * nothing is written, for as long as "nontemporal" would take. What costs more after it, others on
 * the machine have evicted.
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
#define STREAM	(64 * MIB)	/* bytes that one copy writes */
#define AREA	(8 * STREAM)	/* bytes that all write to in turn: the next are in no cache */
#define HOT	(64 * KIB)	/* bytes of the source */
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

typedef void copy_fn(void *dst, const void *src, size_t bytes);

size_t copy_to_nontemporal(void *dst, const void *src, size_t bytes);
size_t copy_prefetch(void *dst, const void *src, size_t bytes);
extern const char rep_movs_alternative_movsq[];

static void fsrm(void *dst, const void *src, size_t bytes)
{
	asm volatile("rep movsb" : "+c" (bytes), "+D" (dst), "+S" (src) : : "memory");
}

/* Not a C function: count in rcx, rax is lost */
static void movsq(void *dst, const void *src, size_t bytes)
{
	asm volatile("call *%[fn]" : "+c" (bytes), "+D" (dst), "+S" (src)
		     : [fn] "r" (rep_movs_alternative_movsq) : "memory", "rax", "cc");
}

/* Four words by way of r8 to r11 */
#define WORDS(a, b, c, d)								\
	"movq " a "(%1), %%r8; movq " b "(%1), %%r9;"					\
	"movq " c "(%1), %%r10; movq " d "(%1), %%r11;"					\
	"movq %%r8, " a "(%0); movq %%r9, " b "(%0);"					\
	"movq %%r10, " c "(%0); movq %%r11, " d "(%0);"

static void unrolled(void *dst, const void *src, size_t bytes)
{
	for (; bytes; bytes -= LINE, dst += LINE, src += LINE)
		asm volatile(WORDS("0", "8", "16", "24") WORDS("32", "40", "48", "56")
			     : : "r" (dst), "r" (src) : "memory", "r8", "r9", "r10", "r11");
}

static void nontemporal(void *dst, const void *src, size_t bytes)
{
	copy_to_nontemporal(dst, src, bytes);
}

static void prefetch(void *dst, const void *src, size_t bytes)
{
	copy_prefetch(dst, src, bytes);
}

static void glibc(void *dst, const void *src, size_t bytes)
{
	memcpy(dst, src, bytes);
	asm volatile("" : : "r" (dst) : "memory");
}

static uint64_t idle_cycles;	/* for 64 KiB */

static void idle(void *dst, const void *src, size_t bytes)
{
	uint64_t end = __rdtsc() + idle_cycles * bytes / (64 * KIB);

	(void)dst;
	(void)src;
	while (__rdtsc() < end)
		;
}

static const struct {
	const char *name;
	copy_fn *copy;
} copies[] = {
	{ "fsrm", fsrm }, { "movsq", movsq }, { "unrolled", unrolled },
	{ "nontemporal", nontemporal }, { "prefetch", prefetch }, { "glibc", glibc },
	{ "fsrm_again", fsrm }, { "idle", idle },	/* the last one: for walks only */
};

static uint8_t *area, *source;
static size_t area_used;

/* Memory as the kernel maps the page cache: in large pages, as far as there are any */
static void *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes + 2 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(2, "mmap");
	p = (void *)(((uintptr_t)p + 2 * MIB - 1) & ~(2 * MIB - 1));
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 1, bytes);
	return p;
}

/* The next STREAM bytes, which were written longest ago */
static uint8_t *cold(void)
{
	area_used = (area_used + STREAM) % AREA;
	return area + area_used;
}

/* Write bytes in calls of piece; the source is hot unless a piece is larger than it */
static void stream(copy_fn *copy, uint8_t *to, size_t bytes, size_t piece)
{
	const uint8_t *from = piece > HOT ? area + AREA : source;

	for (size_t done = 0; done < bytes; done += piece)
		copy(to + done, from + (piece > HOT ? 0 : done % HOT), piece);
}

static void print(const char *copy, size_t bytes, double result)
{
	printf("{\"copy\": \"%s\", \"bytes\": %zu, \"cycles\": %.4f}\n", copy, bytes, result);
}

static void rate(size_t i, size_t piece)
{
	uint8_t *to = cold();
	uint64_t start = cycles();

	stream(copies[i].copy, to, STREAM, piece);
	print(copies[i].name, piece, (double)(cycles() - start) * LINE / STREAM);
}

/* A chain through all lines, in an order that no prefetcher knows */
static void **chain(void *room, size_t bytes)
{
	size_t n = bytes / LINE, *order = malloc(n * sizeof(*order));
	char *lines = room;

	if (!order)
		exit(2);
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	srandom(1);
	for (size_t i = n - 1; i > 0; i--) {
		size_t j = random() % (i + 1), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (size_t i = 0; i < n; i++)
		*(void **)(lines + order[i] * LINE) = lines + order[(i + 1) % n] * LINE;
	free(order);
	return room;
}

static double walk(void **start, size_t bytes)
{
	size_t n = bytes / LINE;
	void **p = start;
	uint64_t begin = cycles();

	for (size_t i = 0; i < n; i++)
		p = *p;
	asm volatile("" : : "r" (p));
	return (double)(cycles() - begin) / n;
}

static void walk_after(size_t i, size_t bytes, size_t written)
{
	static size_t made;
	static void **room;
	char name[32];
	double warm;

	if (!room)
		room = memory(32 * MIB);
	if (made != bytes)
		chain(room, bytes);
	made = bytes;
	walk(room, bytes);
	warm = walk(room, bytes);
	stream(copies[i].copy, cold(), written, HOT);
	print(copies[i].name, bytes, walk(room, bytes));
	snprintf(name, sizeof(name), "%s_warm", copies[i].name);
	print(name, bytes, warm);
}

static void victim(size_t i, size_t bytes)
{
	walk_after(i, bytes, STREAM);
}

static void victim4(size_t i, size_t bytes)
{
	walk_after(i, bytes, 4 * MIB);
}

/* Written 2 MiB or 4 times, whichever is more, after once for nothing */
static void again(size_t i, size_t bytes)
{
	size_t times = bytes < MIB / 2 ? 2 * MIB / bytes : 4, n;
	size_t piece = bytes < HOT ? bytes : HOT;
	uint64_t start;

	stream(copies[i].copy, area, bytes, piece);
	start = cycles();
	for (n = 0; n < times; n++)
		stream(copies[i].copy, area, bytes, piece);
	print(copies[i].name, bytes, (double)(cycles() - start) * LINE / bytes / times);
}

static void readback(size_t i, size_t bytes)
{
	size_t times = bytes < 4 * MIB ? 4 * MIB / bytes : 1, n;
	uint8_t *to = cold();
	uint64_t start = cycles();

	for (n = 0; n < times; n++, to += bytes) {
		uint64_t total = 0;

		stream(copies[i].copy, to, bytes, bytes < HOT ? bytes : HOT);
		for (const uint8_t *from = to; from < to + bytes; from += sizeof(total))
			total += *(const uint64_t *)from;
		asm volatile("" : : "r" (total));
	}
	print(copies[i].name, bytes, (double)(cycles() - start) * LINE / bytes / times);
}

static const size_t sizes[] = {
	512, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB,
};
static const size_t victims[] = {
	32 * KIB, 128 * KIB, 512 * KIB, 2 * MIB, 8 * MIB, 32 * MIB,
};

static const struct {
	const char *name;
	void (*measure)(size_t copy, size_t bytes);
	const size_t *sizes;
	size_t count, copies;
} measures[] = {
	{ "rate", rate, sizes, COUNT(sizes), COUNT(copies) - 1 },
	{ "victim", victim, victims, COUNT(victims), COUNT(copies) },
	{ "victim4", victim4, victims, COUNT(victims), COUNT(copies) },
	{ "again", again, sizes, COUNT(sizes), COUNT(copies) - 1 },
	{ "readback", readback, sizes, COUNT(sizes), COUNT(copies) - 1 },
};

int main(int argc, char **argv)
{
	int rounds = argc == 3 ? atoi(argv[2]) : 0, round;
	size_t m, s, c;
	cpu_set_t cpu;

	for (m = 0; argc == 3 && m < COUNT(measures); m++)
		if (!strcmp(argv[1], measures[m].name))
			break;
	if (rounds < 1 || m == COUNT(measures))
		errx(2, "usage: stream rate|victim|victim4|again|readback ROUNDS");
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	source = memory(HOT);
	area = memory(AREA + STREAM);

	idle_cycles = cycles();
	stream(nontemporal, cold(), STREAM, HOT);
	idle_cycles = (cycles() - idle_cycles) / (STREAM / (64 * KIB));

	for (round = 0; round < rounds; round++)
		for (s = 0; s < measures[m].count; s++)
			for (c = 0; c < measures[m].copies; c++)
				measures[m].measure((c + round) % measures[m].copies,
						    measures[m].sizes[s]);
	return 0;
}
