// SPDX-License-Identifier: GPL-2.0
/*
 * Times user copies by the distance between their two addresses, (destination - source) modulo
 * 4 KiB: some CPUs take far longer for rep movsb where it is small. In user space, on the real CPU,
 * with the kernel's own routines; and the system calls that copy, on the kernel that runs.
 *
 * usage: distance hot|isolated|memory|random|calls ROUNDS [BYTES]
 *   hot       copies without a pause between them
 *   isolated  one copy at a time, the store buffer empty before and after it
 *   memory    one copy, source and destination flushed to memory before it
 *   random    the same at random distances, which no CPU predicts; "delta" is 4096
 *   calls     pread() and pwrite() of a file in memory, read() of a pipe and of a Unix socket
 *
 * A line of JSON for each distance ("delta") and size, by copy: median, lower and upper quartile
 * and the worst over the alignments of the source (0 to 63) and of the code, of the medians of ROUNDS
 * samples each, in cycles of the time-stamp counter for a copy; calls: over the samples, at one
 * alignment. BYTES: of that size only. The copies of a sample follow each other; "none" is the call
 * of a routine that copies nothing, "again" rep movsb once more: the difference is the machine's
 * noise. "checked" is rep movsb with the check of the distance, "series" what the series executes
 * on this CPU.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../tools/figures/tsc.h"
#include "site.h"	/* this and copies.h are written by site.py */

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define PAGE 4096
#define LARGEST (1 << 20)
#define LARGEST_HOT 65536
#define LARGEST_PIPE 32768
#define ALIGNMENTS 64
#define MOST_ROUNDS 101

static const size_t sizes[] = { 1, 8, 16, 64, 128, 256, 512, 1024, 4096, 32768, 65536, LARGEST };
/* After 0 to 127; behind these the destination ends before the source begins, modulo 4 KiB */
static const size_t far[] = {
	128, 160, 192, 256, 512, 1024, 2048, 3072, 3840, 4000, 4032, 4048, 4064, 4080, 4088, 4095,
};

static unsigned char *source, *target;

/*
 * Where a body lies in its cache line is up to 6 cycles on Zen 4, more than what is compared. So
 * each is there PLACES times, behind 0 to 56 bytes of NOPs, which all copies execute alike.
 */
#define PLACES 8
typedef void copy_function(void *dst, const void *src, size_t n);

enum measure { HOT, ISOLATED, MEMORY, RANDOM, CALL, MEASURES };
static const char * const measure_names[MEASURES] = {
	"hot", "isolated", "memory", "random", "calls",
};

#define PLACED(name, place, instructions)						\
static __attribute__((noinline, aligned(64)))						\
void name##_##place(void *dst, const void *src, size_t n)				\
{											\
	asm volatile(".nops " #place "\n\t" instructions				\
		     : "+c" (n), "+D" (dst), "+S" (src) : : "memory", "rax", "cc");	\
}
#define COPY(name, instructions)							\
PLACED(name, 0, instructions) PLACED(name, 8, instructions) PLACED(name, 16, instructions)	\
PLACED(name, 24, instructions) PLACED(name, 32, instructions) PLACED(name, 40, instructions)	\
PLACED(name, 48, instructions) PLACED(name, 56, instructions)				\
static copy_function *const name[PLACES] = {						\
	name##_0, name##_8, name##_16, name##_24, name##_32, name##_40, name##_48, name##_56,	\
};
#include "copies.h"	/* COPY() of each, in the order in which they are linked */

static const struct copy {
	const char *name;
	copy_function *const *at;
} copies[] = {
	{ "none", none }, { "movsb", movsb }, { "again", movsb }, { "series", series },
	{ "checked", checked }, { "movsq", movsq },
};

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The part of n values below which a fourth, a half (2), three fourths (3) of them are */
static double quartile(double *values, size_t n, unsigned int fourths)
{
	qsort(values, n, sizeof(*values), rising);
	return values[(n - 1) * fourths / 4];
}

static void print_values(const char *name, double *values, size_t n, bool last)
{
	double low = quartile(values, n, 1), median = quartile(values, n, 2);

	printf("\"%s\": [%.1f, %.1f, %.1f, %.1f]%s", name, median, low, quartile(values, n, 3),
	       values[n - 1], last ? "}\n" : ", ");
}

static void flush(const unsigned char *at, size_t n)
{
	for (size_t i = 0; i < n + 64; i += 64)
		_mm_clflush(at + i);
}

/* Cycles of a copy, over as many copies as are some thousand cycles; from memory of one */
static double sample(copy_function *copy, unsigned char *dst, const unsigned char *src,
		     size_t n, enum measure measure)
{
	unsigned int calls = measure == MEMORY ? 1 : n >= 16384 ? 16 : n >= 1024 ? 64 : 128;
	uint64_t sum = 0, start;

	if (measure == MEMORY) {
		flush(src, n);
		flush(dst, n);
	} else if (measure == HOT) {
		start = cycles();
		for (unsigned int i = 0; i < calls; i++)
			copy(dst, src, n);
		return (double)(cycles() - start) / calls;
	}
	for (unsigned int i = 0; i < calls; i++) {
		start = cycles();
		copy(dst, src, n);
		sum += cycles() - start;
	}
	return (double)sum / calls;
}

/* Medians of the copies at each alignment of the source; returns how many alignments */
static size_t sweep(size_t n, size_t delta, long rounds, enum measure measure,
		    double medians[COUNT(copies)][ALIGNMENTS])
{
	static double samples[COUNT(copies)][MOST_ROUNDS];
	size_t step = n >= 16384 || measure == MEMORY ? 8 : 1, count = 0;

	for (size_t at = 0; at < ALIGNMENTS; at += step, count++) {
		const unsigned char *src = source + at;
		unsigned char *dst = target + (at + delta) % PAGE;

		for (long r = -1; r < rounds; r++)	/* one turn to warm up */
			for (size_t c = 0; c < COUNT(copies); c++)
				samples[c][r < 0 ? 0 : r] = sample(copies[c].at[count % PLACES],
								   dst, src, n, measure);
		for (size_t c = 0; c < COUNT(copies); c++)
			medians[c][count] = quartile(samples[c], rounds, 2);
		if (memcmp(dst, src, n))
			errx(1, "no copy was made");
	}
	return count;
}

static void print_sweep(size_t n, size_t delta, long rounds, enum measure measure)
{
	static double medians[COUNT(copies)][ALIGNMENTS];
	size_t count = sweep(n, delta, rounds, measure, medians);

	printf("{\"bytes\": %zu, \"delta\": %zu, ", n, delta);
	for (size_t c = 0; c < COUNT(copies); c++)
		print_values(copies[c].name, medians[c], count, c == COUNT(copies) - 1);
}

/* Medians over the places of the code; each sample goes through the same draws */
static void print_random(size_t n, long rounds)
{
	static uint16_t draws[1 << 16];
	static double samples[COUNT(copies)][PLACES * MOST_ROUNDS];
	size_t count = n < PAGE ? COUNT(draws) : COUNT(draws) / 16;
	uint32_t x = 2463534242;

	for (size_t i = 0; i < COUNT(draws); i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		draws[i] = x % PAGE;
	}
	for (long r = 0; r < rounds * PLACES; r++) {
		for (size_t c = 0; c < COUNT(copies); c++) {
			copy_function *copy = copies[c].at[r % PLACES];
			uint64_t start = cycles();

			for (size_t i = 0; i < count; i++)
				copy(target + draws[i], source, n);
			samples[c][r] = (double)(cycles() - start) / count;
		}
	}
	printf("{\"bytes\": %zu, \"delta\": %d, ", n, PAGE);
	for (size_t c = 0; c < COUNT(copies); c++)
		print_values(copies[c].name, samples[c], rounds * PLACES, c == COUNT(copies) - 1);
}

/* A call that copies n bytes between the kernel and at: cycles. fds: what it reads and writes. */
enum call { PREAD, PWRITE, PIPE, SOCKET, CALLS };
static const char * const call_names[CALLS] = { "pread", "pwrite", "pipe", "socket" };

static double call_once(enum call call, const int *fds, unsigned char *at, size_t n)
{
	uint64_t start;
	ssize_t done;

	if ((call == PIPE || call == SOCKET) && write(fds[1], source, n) != (ssize_t)n)
		err(1, "write");
	start = cycles();
	if (call == PREAD)
		done = pread(fds[0], at, n, 0);
	else if (call == PWRITE)
		done = pwrite(fds[0], at, n, 0);
	else
		done = read(fds[0], at, n);
	start = cycles() - start;
	if (done != (ssize_t)n)
		err(1, "%s", call_names[call]);
	return (double)start;
}

/* A pipe and a socket take LARGEST_PIPE bytes */
static void print_calls(size_t n, size_t delta, long rounds)
{
	enum call last = n <= LARGEST_PIPE ? SOCKET : PWRITE;
	static double samples[CALLS][MOST_ROUNDS];
	int fds[CALLS][2];

	fds[PREAD][0] = fds[PWRITE][0] = memfd_create("distance", 0);
	if (fds[PREAD][0] < 0 || pwrite(fds[PREAD][0], source, n, 0) != (ssize_t)n ||
	    pipe(fds[PIPE]) || socketpair(AF_UNIX, SOCK_STREAM, 0, fds[SOCKET]))
		err(1, "no file, pipe or socket");
	for (enum call call = 0; call <= last; call++) {
		/* The kernel's side is page-aligned; a pwrite() has it as the destination */
		unsigned char *at = target + (call == PWRITE ? PAGE - delta : delta) % PAGE;

		for (long r = -1; r < rounds; r++)
			samples[call][r < 0 ? 0 : r] = call_once(call, fds[call], at, n);
	}
	printf("{\"bytes\": %zu, \"delta\": %zu, ", n, delta);
	for (enum call call = 0; call <= last; call++)
		print_values(call_names[call], samples[call], rounds, call == last);
	close(fds[PREAD][0]);
	for (enum call call = PIPE; call < CALLS; call++) {
		close(fds[call][0]);
		close(fds[call][1]);
	}
}

static unsigned char *pages(size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		err(1, "mmap");
	return at;
}

/* Whether a measure has a row of n bytes at a distance */
static bool has_row(enum measure measure, size_t n, size_t delta)
{
	if (measure == CALL)
		return n == PAGE || n == LARGEST_PIPE || n == LARGEST;
	if (measure == MEMORY)
		return (n == PAGE || n >= LARGEST_HOT) &&
		       ((delta <= 64 && delta % 8 == 0) || delta == 1024);
	return n <= LARGEST_HOT;
}

int main(int argc, char **argv)
{
	const char *name = argc >= 3 ? argv[1] : "";
	long rounds = argc >= 3 ? atol(argv[2]) : 0;
	size_t only = argc == 4 ? atol(argv[3]) : 0;
	enum measure measure = 0;

	while (measure < MEASURES && strcmp(name, measure_names[measure]))
		measure++;
	if (rounds < 1 || rounds > MOST_ROUNDS || measure == MEASURES)
		errx(2, "usage: distance hot|isolated|memory|random|calls ROUNDS (1 to %d) [BYTES]",
		     MOST_ROUNDS);
	source = pages(LARGEST + 2 * PAGE);
	target = pages(LARGEST + 2 * PAGE);
	for (size_t i = 0; i < LARGEST + 2 * PAGE; i++)
		source[i] = 1 + i % 251;
	for (size_t s = 0; s < COUNT(sizes); s++) {
		if ((only && sizes[s] != only) || !has_row(measure, sizes[s], 0))
			continue;
		if (measure == RANDOM) {
			print_random(sizes[s], rounds);
			continue;
		}
		for (size_t d = 0; d < 128 + COUNT(far); d++) {
			size_t delta = d < 128 ? d : far[d - 128];

			if (!has_row(measure, sizes[s], delta))
				continue;
			if (measure == CALL)
				print_calls(sizes[s], delta, rounds);
			else
				print_sweep(sizes[s], delta, rounds, measure);
		}
	}
	return 0;
}
