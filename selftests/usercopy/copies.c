// SPDX-License-Identifier: GPL-2.0
/*
 * Times user copies in user space, on the real CPU: the kernel's own routines, assembled unchanged,
 * and unsafe_copy_to_user() from its header. What the kernel does around a copy (STAC, CLAC,
 * masking the address) is left out: the first two cannot be executed here.
 *
 * usage: copies MEASURE ROUNDS
 *   hot         1 byte to 4 KiB, over and over, in the first-level cache
 *   misaligned  the same, from an address of 3 modulo 64 to one of 5
 *   aliased     the same, to an address that is 2 above the source modulo 4 KiB: some CPUs take a
 *               load for one of what was just stored
 *   cold        the same with source and destination in no cache: one copy at a time
 *   written     8 to 64 bytes, hot, of a structure of 8-byte fields that were written just before
 *   calls       system calls of this kernel that differ by a copy
 *   random64    sizes that are drawn from 1 to 64, hot: 65536 draws, for no predictor to learn
 *   random512   sizes that are drawn from 1 to 512, hot
 *
 * A line of JSON for each sample: copy, bytes, cycles of the time-stamp counter for a copy, with
 * the loop around it. Each copy but "const" and "words" is called, as _copy_from_user() and
 * _copy_to_user() are; these two are unsafe_copy_to_user() of a constant and of a variable size.
 * "put_user" is a call that stores 8 bytes, as put_user() does. "none" is that
 * call and no copy. In each round all take their turn; "fsrm" has two, "fsrm" and
 * "fsrm_again": the difference is the machine's noise. "fsrm_ret" is the same with a plain ret.
 */
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

/* What unsafe_copy_to_user() takes from other headers; inline.h is written by bench.py */
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#define __user
#define auto __auto_type
#define unsafe_put_user(x, ptr, label)						\
do {										\
	asm volatile("mov %1,%0" : "=m" (*(ptr)) : "r" (x));			\
	if (0)									\
		goto label;							\
} while (0)
#include "inline.h"

#define LINE 64
#define CALLS 2000	/* copies of one sample */
#define COLD_CALLS 300
#define DRAWS 65536
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#define LARGEST 4096
static unsigned char source[LARGEST + 4096] __attribute__((aligned(4096)));
static unsigned char target[LARGEST + 4096] __attribute__((aligned(4096)));

static __attribute__((noinline)) size_t none(void *dst, const void *src, size_t n)
{
	asm volatile("" : "+c" (n), "+D" (dst), "+S" (src) : : "memory");
	return n;
}

/*
 * What stands for _copy_from_user(); gcc's -mfunction-return= says how it returns. Each begins a cache
 * line: where rep movsb lies in one is some cycles on Zen 4.
 */
#define COPY(name, instructions, ...)	\
static __attribute__((noinline, aligned(64), ##__VA_ARGS__)) size_t name(void *dst, const void *src, size_t n)	\
{	\
	asm volatile(instructions : "+c" (n), "+D" (dst), "+S" (src)	\
		     : : "memory", "rax", "cc");	\
	return n;	\
}
COPY(fsrm, "rep movsb\n.nops 3, 3")	/* the five bytes of a call */
COPY(fsrm_ret, "rep movsb\n.nops 3, 3", function_return("keep"))
COPY(erms, "call rep_movs_alternative_erms")
COPY(movsq, "call rep_movs_alternative_movsq")
COPY(unrolled, "call rep_movs_alternative_unrolled")
COPY(string, "call copy_user_string")
COPY(put_user, "mov (%%rsi),%%rax\nmov %%rax,(%%rdi)")

static inline __attribute__((always_inline))
bool copy_inline(void *dst, const void *src, size_t n)
{
	unsafe_copy_to_user(dst, src, n, fault);
	return true;
fault:
	return false;
}

static const struct copy {
	const char *name;
	size_t (*call)(void *dst, const void *src, size_t n);
} copies[] = {
	{ "none", none }, { "fsrm", fsrm }, { "fsrm_again", fsrm },
	{ "fsrm_ret", fsrm_ret }, { "erms", erms },
	{ "movsq", movsq }, { "unrolled", unrolled }, { "string", string },
	{ "put_user", put_user },
};

static const size_t sizes[] = {
	1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 2048, 4096,
};

/* A structure that its owner has just filled */
static void write_fields(size_t n)
{
	for (size_t at = 0; at < n; at += 8)
		*(volatile uint64_t *)(source + at) = 0x0807060504030201 + at;
}

static uint64_t begin(void)
{
	_mm_lfence();
	uint64_t now = __rdtsc();
	_mm_lfence();
	return now;
}

static uint64_t end(void)
{
	unsigned int cpu;
	uint64_t now = __rdtscp(&cpu);

	_mm_lfence();
	return now;
}

static void flush(const unsigned char *at, size_t n)
{
	for (size_t i = 0; i < n + LINE; i += LINE)
		_mm_clflush(at + i);
}

static void print(const char *name, size_t n, uint64_t cycles, unsigned int calls)
{
	printf("{\"copy\": \"%s\", \"bytes\": %zu, \"cycles\": %.3f}\n", name, n,
	       (double)cycles / calls);
}

/* First some calls train the predictors and fill the cache. No copy made: an error. */
#define TIME(name, n, dst, src, cold, copy)					\
do {										\
	unsigned int calls_ = (cold) ? COLD_CALLS : CALLS;			\
	uint64_t sum_ = 0, start_ = 0;						\
	for (unsigned int i_ = 0; i_ < calls_ / 4; i_++)			\
		(void)(copy);							\
	if (!(cold))								\
		start_ = begin();						\
	for (unsigned int i_ = 0; i_ < calls_; i_++) {				\
		if (cold) {							\
			flush(dst, n);						\
			flush(src, n);						\
			_mm_mfence();						\
			start_ = begin();					\
		}								\
		if (written)							\
			write_fields(n);					\
		(void)(copy);							\
		if (cold)							\
			sum_ += end() - start_;					\
	}									\
	if (!(cold))								\
		sum_ = end() - start_;						\
	if (strcmp(name, "none") && memcmp(dst, src, n))			\
		exit(2);							\
	print(name, n, sum_, calls_);						\
} while (0)

#define CONSTANT(n)									\
	case n:										\
		TIME("const", n, dst, src, cold, (void)copy_inline(dst, src, n));	\
		break;

static void fixed(unsigned char *dst, const unsigned char *src, bool cold, bool written)
{
	for (size_t s = 0; s < COUNT(sizes); s++) {
		size_t n = sizes[s];

		if (written && (n < 8 || n > 64))
			continue;
		for (size_t c = 0; c < COUNT(copies); c++) {
			/* One loop, one call through a register for all: the same cost */
			size_t (*call)(void *, const void *, size_t) = copies[c].call;

			if (call == put_user && n != 8)
				continue;
			TIME(copies[c].name, n, dst, src, cold, call(dst, src, n));
		}
		if (n <= 64)
			TIME("words", n, dst, src, cold, (void)copy_inline(dst, src, n));
		switch (n) {
		CONSTANT(1) CONSTANT(2) CONSTANT(4) CONSTANT(6) CONSTANT(8) CONSTANT(12)
		CONSTANT(16) CONSTANT(24) CONSTANT(32) CONSTANT(48) CONSTANT(64)
		}
	}
}

static const uint16_t *draws_below(uint32_t end)
{
	static uint16_t draws[DRAWS];
	uint32_t x = 2463534242;

	for (size_t i = 0; i < DRAWS; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		draws[i] = x % end;
	}
	return draws;
}

/* Sizes from 1 to largest; "bytes" is the largest */
static void drawn(size_t largest)
{
	const uint16_t *draws = draws_below(largest);

	for (size_t c = 0; c < COUNT(copies); c++) {
		uint64_t start = begin();

		if (copies[c].call == put_user)
			continue;

		for (size_t i = 0; i < DRAWS; i++)
			copies[c].call(target, source, 1 + draws[i]);
		print(copies[c].name, largest, end() - start, DRAWS);
	}
	uint64_t start = begin();

	for (size_t i = 0; i < DRAWS; i++) {
		size_t n = 1 + draws[i];

		if (n <= 64)
			copy_inline(target, source, n);
		else
			fsrm(target, source, n);
	}
	print("words", largest, end() - start, DRAWS);
}

/* Pairs of system calls of the running kernel: the second one has a copy more, or two */
#define CALL(name, bytes, ...)							\
do {										\
	uint64_t start_ = begin();						\
	for (int i_ = 0; i_ < CALLS; i_++)					\
		syscall(__VA_ARGS__);						\
	print(name, bytes, end() - start_, CALLS);				\
} while (0)

static void calls(void)
{
	static uint64_t set, old_set, mask[2], action[4];
	static struct epoll_event event;
	static struct timespec zero;
	static stack_t stack;
	static int fd = -1;

	if (fd < 0)
		fd = epoll_create1(0);
	CALL("sigprocmask", 8, SYS_rt_sigprocmask, SIG_BLOCK, NULL, NULL, 8);
	CALL("sigprocmask_out", 8, SYS_rt_sigprocmask, SIG_BLOCK, NULL, &old_set, 8);
	CALL("sigprocmask_both", 8, SYS_rt_sigprocmask, SIG_BLOCK, &set, &old_set, 8);
	CALL("sigaltstack", 24, SYS_sigaltstack, NULL, NULL);
	CALL("sigaltstack_out", 24, SYS_sigaltstack, NULL, &stack);
	CALL("sigaction", 32, SYS_rt_sigaction, SIGUSR1, NULL, NULL, 8);
	CALL("sigaction_out", 32, SYS_rt_sigaction, SIGUSR1, NULL, action, 8);
	CALL("clock_getres", 16, SYS_clock_getres, CLOCK_MONOTONIC, NULL);
	CALL("clock_getres_out", 16, SYS_clock_getres, CLOCK_MONOTONIC, &zero);
	/* Both end with the same error, as standard input is not watched */
	CALL("epoll_ctl", 12, SYS_epoll_ctl, fd, EPOLL_CTL_DEL, 0, NULL);
	CALL("epoll_ctl_in", 12, SYS_epoll_ctl, fd, EPOLL_CTL_MOD, 0, &event);
	memset(&zero, 0, sizeof(zero));
	CALL("pselect6", 16, SYS_pselect6, 0, NULL, NULL, NULL, &zero, NULL);
	CALL("pselect6_in", 16, SYS_pselect6, 0, NULL, NULL, NULL, &zero, mask);
}

int main(int argc, char **argv)
{
	const char *measure = argc == 3 ? argv[1] : "";
	long rounds = argc == 3 ? atol(argv[2]) : 0;

	if (rounds < 1)
		errx(2, "usage: copies hot|misaligned|aliased|cold|random64|...|calls ROUNDS");
	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = 1 + i % 251;
	for (; rounds; rounds--) {
		memset(target, 0, sizeof(target));
		if (!strcmp(measure, "hot"))
			fixed(target, source, false, false);
		else if (!strcmp(measure, "misaligned"))
			fixed(target + 1024 + 5, source + 3, false, false);
		else if (!strcmp(measure, "aliased"))
			fixed(target + 5, source + 3, false, false);
		else if (!strcmp(measure, "cold"))
			fixed(target, source, true, false);
		else if (!strcmp(measure, "written"))
			fixed(target, source, false, true);
		else if (!strcmp(measure, "calls"))
			calls();
		else if (!strcmp(measure, "random64"))
			drawn(64);
		else if (!strcmp(measure, "random512"))
			drawn(512);
		else
			return 2;
	}
	return 0;
}
