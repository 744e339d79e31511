// SPDX-License-Identifier: GPL-2.0
/*
 * Patterns of accesses whose misses arithmetic can tell, one label for each;
 * expected.py holds the arithmetic. They run in one physically contiguous
 * buffer on CPU 0, with interrupts off, and keep everything in registers, so
 * that the counts are exact. The sizes suit an L1D of 32 KiB, 8 ways, an L2 of 256 KiB,
 * 8 ways, and an LLC of 1 MiB, 16 ways, and tell others apart too.
 */
#include <linux/cpu.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/smp.h>

#include "tags.h"

#define ORDER	10	/* 4 MiB, and aligned to that */

/* Name, stride and count of the patterns of reads: cold ones, and those in a steady state */
#define COLD_READS(X)							\
	X(stride_8, 8, SZ_64K / 8) X(stride_64, 64, SZ_64K / 64)	\
	X(stride_128, 128, SZ_64K / 128) X(stride_256, 256, SZ_64K / 256)
#define STEADY_READS(X)							\
	X(capacity_l1, 64, SZ_32K / 64)					\
	X(over_l1, 64, (SZ_32K + SZ_4K) / 64)				\
	X(capacity_l2, 64, SZ_256K / 64)				\
	X(over_l2, 64, (SZ_256K + SZ_32K) / 64)				\
	X(capacity_llc, 64, SZ_1M / 64)					\
	X(over_llc, 64, (SZ_1M + SZ_64K) / 64)				\
	X(ways_l1, SZ_4K, 8) X(conflict_l1, SZ_4K, 9)			\
	X(ways_l2, SZ_32K, 8) X(conflict_l2, SZ_32K, 9)			\
	X(ways_llc, SZ_64K, 16) X(conflict_llc, SZ_64K, 17)
#define PATTERNS(X)							\
	COLD_READS(X) STEADY_READS(X)					\
	X(write_cold) X(write_again) X(write_back) X(write_clean)	\
	X(nt_cold) X(nt_read_back) X(nt_hit) X(nt_hit_read) X(nt_dirty)	\
	X(split)							\
	X(cpu0_writes) X(cpu1_reads) X(cpu0_writes_again) X(cpu1_reads_again)

#define NUMBER(name, ...)	name,
enum { PATTERNS(NUMBER) NPATTERNS };

#define NAME(name, ...)	#name,
static const char * const names[] = { PATTERNS(NAME) };

/* Load one byte at each of count places, stride bytes apart, passes times */
static __always_inline void read(void *buffer, long stride, long count, int passes)
{
	while (passes--) {
		void *p = buffer, *end = buffer + stride * count;

		for (; p != end; p += stride)
			asm volatile("testb %%al, (%0)" : : "r" (p) : "memory", "cc");
	}
}

static __always_inline void write(void *buffer, long stride, long count)
{
	void *p = buffer, *end = buffer + stride * count;

	for (; p != end; p += stride)
		asm volatile("movb %%al, (%0)" : : "r" (p) : "memory");
}

/* Eight bytes each: all of the buffer with a stride of 8 */
static __always_inline void write_nt(void *buffer, long count)
{
	void *p = buffer, *end = buffer + 8 * count;

	for (; p != end; p += 8)
		asm volatile("movnti %%rax, (%0)" : : "r" (p) : "memory");
}

#define REGION(label, ...) do {						\
	cachemodel_begin(label);					\
	__VA_ARGS__;							\
	cachemodel_end(label);						\
} while (0)

#define COLD(label, ...) do {						\
	cachemodel_clear();						\
	REGION(label, __VA_ARGS__);					\
} while (0)

#define COLD_READ(label, stride, count)					\
	COLD(label, read(buffer, stride, count, 1));
/* Two passes to come to a steady state, then four that count */
#define STEADY_READ(label, stride, count)				\
	cachemodel_clear();						\
	read(buffer, stride, count, 2);					\
	REGION(label, read(buffer, stride, count, 4));

static noinline void reads(void *buffer)
{
	COLD_READS(COLD_READ)
	STEADY_READS(STEADY_READ)
}

static noinline void writes(void *buffer)
{
	COLD(write_cold, write(buffer, 64, SZ_64K / 64));
	REGION(write_again, write(buffer, 64, SZ_64K / 64));
	/* What was written twice goes to memory once, pushed out by reads */
	REGION(write_back, read(buffer + SZ_1M, 64, 3 * SZ_1M / 64, 1));
	REGION(write_clean, read(buffer, 64, SZ_1M / 64, 1));
}

static noinline void writes_nt(void *buffer)
{
	COLD(nt_cold, write_nt(buffer, SZ_16K / 8));
	REGION(nt_read_back, read(buffer, 64, SZ_16K / 64, 1));
	REGION(nt_hit, write_nt(buffer, SZ_16K / 8));
	REGION(nt_hit_read, read(buffer, 64, SZ_16K / 64, 1));
	cachemodel_clear();
	write(buffer, 64, SZ_16K / 64);
	REGION(nt_dirty, write_nt(buffer, SZ_16K / 8));
}

/* Eight bytes of which four are in the next line */
static noinline void splits(void *buffer)
{
	long i;

	cachemodel_clear();
	cachemodel_begin(split);
	for (i = 0; i < 16; i++)
		asm volatile("testq %%rax, (%0)" : : "r" (buffer + 128 * i + 60)
			     : "memory", "cc");
	cachemodel_end(split);
}

#define OTHER_CPU(label)						\
static void other_##label(void *buffer)					\
{									\
	REGION(label, read(buffer, 64, SZ_16K / 64, 1));		\
}
OTHER_CPU(cpu1_reads)
OTHER_CPU(cpu1_reads_again)

/*
 * Between the regions the CPUs do other things, but much less than would push
 * the 16 KiB out of an L1D of 32 KiB.
 */
static int two_cpus(void *buffer)
{
	unsigned long flags;
	int ret;

	/* Booted with maxcpus=1: until now no other CPU could touch the LLC */
	ret = add_cpu(1);
	if (ret)
		return ret;
	local_irq_save(flags);
	COLD(cpu0_writes, write(buffer, 64, SZ_16K / 64));
	local_irq_restore(flags);
	ret = smp_call_function_single(1, other_cpu1_reads, buffer, 1);
	if (ret)
		return ret;
	local_irq_save(flags);
	REGION(cpu0_writes_again, write(buffer, 64, SZ_16K / 64));
	local_irq_restore(flags);
	return smp_call_function_single(1, other_cpu1_reads_again, buffer, 1);
}

static int __init calibrate_init(void)
{
	struct page *pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, ORDER);
	unsigned long flags;
	void *buffer;
	int i, ret;

	if (!pages)
		return -ENOMEM;
	buffer = page_address(pages);
	for (i = 0; i < NPATTERNS; i++)
		pr_info("cachemodel: label %d %s\n", i, names[i]);
	local_irq_save(flags);
	reads(buffer);
	writes(buffer);
	writes_nt(buffer);
	splits(buffer);
	local_irq_restore(flags);
	ret = two_cpus(buffer);
	__free_pages(pages, ORDER);
	return ret;
}

module_init(calibrate_init);
MODULE_DESCRIPTION("Access patterns that calibrate the cache model");
MODULE_LICENSE("GPL");
