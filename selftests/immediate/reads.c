// SPDX-License-Identifier: GPL-2.0
/*
 * Times, in user space on the real CPU, what N reads add to a system call: as loads, each from a
 * cache line of its own, and as immediates, each followed by a branch. Hot: the same reads have
 * just been done. Otherwise a buffer is written before, as a program with data would: L2KIB KiB, more
 * than the second-level cache, or LLCKIB KiB, more than all caches.
 *
 * usage: reads L2KIB,LLCKIB ROUNDS
 * Prints a line of JSON for each case and round: cycles of the time-stamp counter, the first decile
 * of HOT or THRASHED calls, as what others do on the machine only adds to them.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tsc.h"

#define HOT		101
#define THRASHED	11
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

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The three in turn, so that what else the machine does meets all alike */
static void measure(int (*const run[3])(void), size_t thrash, uint64_t times[3][HOT])
{
	int calls = thrash ? THRASHED : HOT;

	for (int call = 0; call < calls; call++) {
		for (int i = 0; i < 3; i++) {
			uint64_t start;

			if (thrash)
				for (size_t b = 0; b < thrash; b += LINE)
					buffer[b]++;
			else
				run[i]();
			start = cycles();
			getppid();
			if (run[i]())
				exit(2);
			times[i][call] = cycles() - start;
		}
	}
	for (int i = 0; i < 3; i++)
		qsort(times[i], calls, sizeof(times[i][0]), compare);
}

int main(int argc, char **argv)
{
	static const char *const forms[] = { "none", "loads", "immediates" };
	static uint64_t times[3][HOT];
	static const char *const caches[] = { "hot", "l2", "llc" };
	int rounds = argc == 3 ? atoi(argv[2]) : 0;
	size_t kib[3] = { 0 };

	if (rounds < 1 || sscanf(argv[1], "%zu,%zu", &kib[1], &kib[2]) != 2 || kib[1] > kib[2])
		errx(2, "usage: reads L2KIB,LLCKIB ROUNDS");
	buffer = calloc(1024, kib[2]);
	if (!buffer)
		errx(2, "no memory for %zu KiB", kib[2]);
	for (int round = -1; round < rounds; round++) {
		for (size_t i = 0; i < 3 * sizeof(cases) / sizeof(cases[0]); i++) {
			int (*const run[3])(void) = { nothing, cases[i / 3].loads, cases[i / 3].immediates };
			size_t thrash = kib[i % 3];

			measure(run, 1024 * thrash, times);
			for (int form = 0; form < 3 && round >= 0; form++)
				printf("{\"cell\": \"%s_%d_%s\", \"form\": \"%s\", \"cycles\": %ju}\n",
				       cases[i / 3].width, cases[i / 3].reads, caches[i % 3],
				       forms[form], times[form][(thrash ? THRASHED : HOT) / 10]);
		}
	}
	return 0;
}
