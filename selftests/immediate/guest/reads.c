// SPDX-License-Identifier: GPL-2.0
/*
 * Workload reads: system calls that read 32, 128 or 4096 variables, as loads and as
 * immediate values: module test_imv_reads of the kernel. Settings: calls=, thrash_kib=.
 */
#include <fcntl.h>
#include <unistd.h>

#include "count.h"

static void __attribute__((noinline)) read_variables(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 0)
		fail_errno("a call of module test_imv_reads");
}

#define COUNT_READS(label, name)	\
	COUNT(read_##name, label, name, , read_variables(fd), read_variables(fd))
#define READS(X)							\
	X(1, nothing)							\
	X(2, loads_u32_32) X(3, immediates_u32_32)			\
	X(4, loads_u32_128) X(5, immediates_u32_128)			\
	X(6, loads_u32_4096) X(7, immediates_u32_4096)			\
	X(8, loads_u64_32) X(9, immediates_u64_32)			\
	X(10, loads_u64_128) X(11, immediates_u64_128)			\
	X(12, loads_u64_4096) X(13, immediates_u64_4096)
READS(COUNT_READS)

static void reads(void)
{
	long calls = number("calls", 1, 1000, 20);

	thrash_setup();
	pin(0);
	mount_at("none", "debugfs", "/debug", "");
	load("test_imv_reads");
	report("progress reads of variables, %ld calls each", calls);
#define READ(label, name)						\
	read_##name(calls, must(open("/debug/imv_reads/" #name, O_RDONLY), #name), NULL);
	READS(READ)
	done();
}

WORKLOAD(reads, reads);
