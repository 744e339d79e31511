// SPDX-License-Identifier: GPL-2.0
/*
 * Times rep_movs_alternative() in user space, on the real CPU: mainline's and the series', each as
 * assembled for a CPU with ERMS ("erms") and for one without ("movsq").
 *
 * usage: rep_movs MEASURE ROUNDS
 *   hot       1 to 512 bytes, over and over, in the first-level cache
 *   written   8 to 256 bytes, hot, of 8-byte fields that were written just before
 *   random    hot, sizes of 1 to "bytes"
 *   memory    source and destination in no cache, one copy at a time
 *
 * A line of JSON for each sample: copy, bytes, cycles of the time-stamp counter for a copy, with the
 * loop around it and a call that stands for _copy_from_user(). In each round all copies take their
 * turn; each round has another place of the call in a cache line and another alignment of the
 * addresses. "again" is erms_before once more: the difference is the machine's noise.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tsc.h"

#define LINE 64
#define CALLS 1000	/* copies of one sample */
#define DRAWS 16384
#define PLACES 4
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

typedef void copy_fn(void *dst, const void *src, size_t n);

static unsigned char source[8192] __attribute__((aligned(4096)));
static unsigned char target[8192] __attribute__((aligned(4096)));

/* Begins a cache line, and has the call so many bytes after its beginning */
#define PLACE(name, place, routine)	\
static __attribute__((noinline, aligned(LINE))) \
void name##_##place(void *dst, const void *src, size_t n)	\
{	\
	asm volatile(".nops " #place "\n\tcall " routine : "+c" (n), "+D" (dst), "+S" (src)	\
		     : : "memory", "rax", "cc");	\
}
#define COPY(name, routine)	\
PLACE(name, 0, routine) PLACE(name, 16, routine) PLACE(name, 32, routine) PLACE(name, 48, routine)	\
static copy_fn *const name[PLACES] = { name##_0, name##_16, name##_32, name##_48 };
COPY(movsq_before, "rep_movs_alternative_movsq_before")
COPY(movsq, "rep_movs_alternative_movsq")
COPY(erms_before, "rep_movs_alternative_erms_before")
COPY(erms, "rep_movs_alternative_erms")

static const struct copy {
	const char *name;
	copy_fn *const *call;
} copies[] = {
	{ "movsq_before", movsq_before }, { "movsq", movsq }, { "erms_before", erms_before },
	{ "erms", erms }, { "again", erms_before },
};

static const size_t sizes[] = {
	1, 4, 8, 12, 15, 16, 20, 24, 28, 31, 32, 40, 44, 48, 56, 63, 64, 65, 71, 80, 96, 128, 160,
	200, 255, 256, 257, 320, 512,
};
static const size_t largest[] = { 7, 15, 31, 63, 127, 255, 511 };

static void print(const struct copy *copy, size_t n, uint64_t sum, unsigned int calls)
{
	printf("{\"copy\": \"%s\", \"bytes\": %zu, \"cycles\": %.3f}\n", copy->name, n, (double)sum / calls);
}

/* A structure that its owner has just filled */
static void write_fields(void *at, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
		*(volatile uint64_t *)((unsigned char *)at + i) = 0x0807060504030201 + i;
}

static void hot(const struct copy *copy, long round, size_t n, int written)
{
	/* Fields of 8 bytes are aligned to as much */
	size_t at = (written ? round * 8 : round * 37) % LINE;
	unsigned char *src = source + at, *dst = target + at + 1024;
	copy_fn *call = copy->call[round % PLACES];
	uint64_t start = 0;

	/* The first quarter trains the predictors and fills the cache */
	for (int i = -CALLS / 4; i < CALLS; i++) {
		if (!i)
			start = cycles();
		if (written)
			write_fields(src, n);
		call(dst, src, n);
	}
	print(copy, n, cycles() - start, CALLS);
	if (memcmp(dst, src, n))
		errx(1, "%s does not copy %zu bytes", copy->name, n);
}

static void random_sizes(const struct copy *copy, long round, size_t most)
{
	static uint32_t x = 2463534242;
	uint16_t draws[DRAWS];
	copy_fn *call = copy->call[round % PLACES];

	for (size_t i = 0; i < DRAWS; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		draws[i] = 1 + (x >> 8) % most;
	}
	uint64_t start = cycles();

	for (size_t i = 0; i < DRAWS; i++)
		call(target + 1024, source, draws[i]);
	print(copy, most, cycles() - start, DRAWS);
}

static void memory(const struct copy *copy, long round, size_t n)
{
	unsigned char *src = source + round * 37 % LINE, *dst = target + round * 37 % LINE + 1024;
	copy_fn *call = copy->call[round % PLACES];
	uint64_t sum = 0;

	for (int i = 0; i < 16; i++) {
		call(dst, src, n);	/* the code */
		for (size_t at = 0; at < n + LINE; at += LINE) {
			_mm_clflush(src + at);
			_mm_clflush(dst + at);
		}
		uint64_t start = cycles();

		call(dst, src, n);
		sum += cycles() - start;
	}
	print(copy, n, sum, 16);
}

int main(int argc, char **argv)
{
	const char *measure = argc == 3 ? argv[1] : "";
	long rounds = argc == 3 ? atol(argv[2]) : 0;

	if (rounds < 1)
		errx(2, "usage: rep_movs hot|written|random|memory ROUNDS");
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = 1 + i % 251;
	for (long round = 0; round < rounds; round++) {
		for (const struct copy *copy = copies; copy < copies + COUNT(copies); copy++) {
			for (size_t i = 0; i < COUNT(sizes); i++) {
				size_t n = sizes[i];

				if (!strcmp(measure, "hot"))
					hot(copy, round, n, 0);
				else if (!strcmp(measure, "written") && n >= 8 && n % 4 == 0 && n <= 256)
					hot(copy, round, n, 1);
				else if (!strcmp(measure, "memory") && n >= 8 && n % 8 == 0)
					memory(copy, round, n);
			}
			for (size_t i = 0; i < COUNT(largest) && !strcmp(measure, "random"); i++)
				random_sizes(copy, round, largest[i]);
		}
	}
	return 0;
}
