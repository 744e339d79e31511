// SPDX-License-Identifier: GPL-2.0
/*
 * Compares the kernel's memcpy(), assembled as __memcpy, with a copy byte by byte: sizes of 0 to 600
 * bytes and some to 9000, distances of the addresses of 0 to 63 and some others modulo 4 KiB, and
 * alignments of the source. Bytes on both sides of the destination have to stay as they are.
 *
 * Prints the number of cases, and ends with 1 and the first wrong one.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PAGE 4096
#define GUARD 64
#define FILL 0xa5
#define LARGEST 9000
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

void *__memcpy(void *dst, const void *src, size_t n);

static unsigned char source[LARGEST + PAGE] __attribute__((aligned(PAGE)));
static unsigned char target[LARGEST + 3 * PAGE] __attribute__((aligned(PAGE)));
static unsigned long cases;

static void one(size_t n, size_t distance, size_t align)
{
	const unsigned char *src = source + align;
	unsigned char *dst = target + PAGE + align + distance;
	size_t i;

	memset(dst - GUARD, FILL, n + 2 * GUARD);
	if (__memcpy(dst, src, n) != dst)
		errx(1, "%zu bytes, distance %zu, alignment %zu: another value is returned", n, distance, align);
	for (i = 0; i < GUARD; i++)
		if (dst[i - GUARD] != FILL || dst[n + i] != FILL)
			errx(1, "%zu bytes, distance %zu, alignment %zu: a byte beside them", n, distance, align);
	for (i = 0; i < n; i++)
		if (dst[i] != src[i])
			errx(1, "%zu bytes, distance %zu, alignment %zu: byte %zu", n, distance, align, i);
	cases++;
}

int main(void)
{
	static const size_t far[] = { 64, 100, 1024, 2048, 4032, 4064, 4065, 4080, 4081, 4095 };
	uint32_t x = 2463534242;
	size_t n, d, a;

	for (n = 0; n < sizeof(source); n++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		source[n] = (x >> 24) == FILL ? 1 : x >> 24;
	}
	for (n = 0; n <= LARGEST; n += n < 600 ? 1 : 601)
		for (d = 0; d < 64 + COUNT(far); d++)
			for (a = 0; a < 64; a += n < 600 ? 5 : 21)
				one(n, d < 64 ? d : far[d - 64], a);
	printf("%lu cases\n", cases);
	return 0;
}
