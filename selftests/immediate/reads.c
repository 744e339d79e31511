// SPDX-License-Identifier: GPL-2.0
/*
 * Times, in user space on the real CPU, what N reads add to a system call: as loads, each from a
 * cache line of its own, and as immediates, each followed by a branch. Hot: nothing between two
 * rounds. Thrashed: a buffer of KIB KiB is written between them, as a program with data would.
 *
 * usage: reads ROUNDS KIB
 * Prints one line of JSON for each case; times are first deciles of ROUNDS rounds, in ns: what
 * others do on the machine only adds to them.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LINES	4096
#define LINE	64

/* The variables: as far apart as if each was in a file of its own */
static union {
	uint32_t u32;
	uint64_t u64;
	char bytes[LINE];
} lines[LINES] __attribute__((aligned(LINE)));

/* Each line once, in an order that a prefetcher does not know */
#define MIX(i)		((i) * 2533 % LINES)
#define AT(i)		lines[(MIX(i) ^ MIX(i) >> 5) * 1771 % LINES]

#define LOADED_u32(i) \
	({ uint32_t v; asm volatile("movl %c1(%%rip), %0" : "=a" (v) : "i" (&AT(i).u32)); v; })
#define LOADED_u64(i) \
	({ uint64_t v; asm volatile("movq %c1(%%rip), %0" : "=r" (v) : "i" (&AT(i).u64)); v; })
/* mov $0, %eax, in the form that is as long as the load: the assembler knows a shorter one */
#define IMMEDIATE_u32(i) ({ uint32_t v; asm volatile(".byte 0xc7, 0xc0; .long 0" : "=a" (v)); v; })
#define IMMEDIATE_u64(i) ({ uint64_t v; asm volatile("movabsq $0, %0" : "=r" (v)); v; })

/* All are zero, which the compiler does not know */
#define R1(read, i)	do { if (__builtin_expect(read(i) != 0, 0)) goto set; } while (0);
#define R2(read, i)	R1(read, i) R1(read, (i) + 1)
#define R4(read, i)	R2(read, i) R2(read, (i) + 2)
#define R8(read, i)	R4(read, i) R4(read, (i) + 4)
#define R16(read, i)	R8(read, i) R8(read, (i) + 8)
#define R32(read, i)	R16(read, i) R16(read, (i) + 16)
#define R64(read, i)	R32(read, i) R32(read, (i) + 32)
#define R128(read, i)	R64(read, i) R64(read, (i) + 64)
#define R256(read, i)	R128(read, i) R128(read, (i) + 128)
#define R512(read, i)	R256(read, i) R256(read, (i) + 256)
#define R1024(read, i)	R512(read, i) R512(read, (i) + 512)
#define R2048(read, i)	R1024(read, i) R1024(read, (i) + 1024)
#define R4096(read, i)	R2048(read, i) R2048(read, (i) + 2048)

#define READER(name, read, n)						\
	static __attribute__((noinline)) int name(void)			\
	{								\
		R##n(read, 0)						\
		return 0;						\
	set:								\
		return 1;						\
	}

#define READERS(type, n)						\
	READER(loads_##type##_##n, LOADED_##type, n)			\
	READER(immediates_##type##_##n, IMMEDIATE_##type, n)

READERS(u32, 32)
READERS(u32, 128)
READERS(u32, 4096)
READERS(u64, 32)
READERS(u64, 128)
READERS(u64, 4096)

static __attribute__((noinline)) int nothing(void)
{
	return 0;
}

static const struct {
	const char *width;
	int reads;
	int (*loads)(void), (*immediates)(void);
} cases[] = {
#define CASE(type, n)	{ #type, n, loads_##type##_##n, immediates_##type##_##n }
	CASE(u32, 32), CASE(u32, 128), CASE(u32, 4096),
	CASE(u64, 32), CASE(u64, 128), CASE(u64, 4096),
};

static volatile char *buffer;
static size_t buffer_size;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

/* Round after round in turn, so that what else the machine does meets all three alike */
static void measure(int (*const run[3])(void), int thrash, double *times[3], int rounds)
{
	for (int round = -2; round < rounds; round++) {
		for (int i = 0; i < 3; i++) {
			double start;

			if (thrash)
				for (size_t b = 0; b < buffer_size; b += LINE)
					buffer[b]++;
			else
				run[i]();
			start = now();
			getppid();
			if (run[i]())
				exit(2);
			if (round >= 0)
				times[i][round] = now() - start;
		}
	}
	for (int i = 0; i < 3; i++)
		qsort(times[i], rounds, sizeof(double), compare);
}

int main(int argc, char **argv)
{
	int rounds = argc == 3 ? atoi(argv[1]) : 0;
	long kib = argc == 3 ? atol(argv[2]) : 0;
	double *times[3];

	if (rounds < 1 || kib < 1)
		errx(2, "usage: reads ROUNDS KIB, both at least 1");
	buffer_size = kib * 1024;
	buffer = calloc(1, buffer_size);
	for (int i = 0; i < 3; i++)
		times[i] = malloc(rounds * sizeof(double));
	if (!buffer || !times[0] || !times[1] || !times[2])
		errx(2, "no memory for %ld KiB and %d rounds", kib, rounds);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int (*const run[3])(void) = { nothing, cases[i].loads, cases[i].immediates };

		for (int thrash = 0; thrash < 2; thrash++) {
			measure(run, thrash, times, rounds);
			printf("{\"width\": \"%s\", \"reads\": %d, \"cache\": \"%s\", "
			       "\"call_ns\": %.0f, \"loads_ns\": %.0f, \"immediates_ns\": %.0f}\n",
			       cases[i].width, cases[i].reads, thrash ? "thrashed" : "hot",
			       times[0][rounds / 10], times[1][rounds / 10] - times[0][rounds / 10],
			       times[2][rounds / 10] - times[0][rounds / 10]);
		}
	}
	return 0;
}
