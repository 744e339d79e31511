// SPDX-License-Identifier: GPL-2.0
/*
 * System calls that read 32, 128 or 4096 variables, as loads and as immediate
 * values: module test_imv_reads of the kernel. Between two of them a buffer is
 * written, as a program with data of its own would do; that is not counted.
 * Words: calls= (of each kind, that are counted), thrash_kib= (of the buffer; 0
 * for none).
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

static int open_kind(const char *name)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "/debug/imv_reads/%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		fail_errno(path);
	return fd;
}

static void call(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 0)
		fail_errno("a call of module test_imv_reads");
}

/* A label has to be a constant: a function of its own for each */
#define KIND(label, name)						\
static void count_##name(long calls)					\
{									\
	int fd = open_kind(#name);					\
									\
	tell("label %d " #name, label);					\
	call(fd);							\
	settle();							\
	while (calls--) {						\
		thrash();						\
		cachemodel_begin(label);				\
		cachemodel_unit(label);					\
		call(fd);						\
		cachemodel_end(label);					\
	}								\
	close(fd);							\
}

#define KINDS(X)							\
	X(1, nothing)							\
	X(2, loads_u32_32) X(3, immediates_u32_32)			\
	X(4, loads_u32_128) X(5, immediates_u32_128)			\
	X(6, loads_u32_4096) X(7, immediates_u32_4096)			\
	X(8, loads_u64_32) X(9, immediates_u64_32)			\
	X(10, loads_u64_128) X(11, immediates_u64_128)			\
	X(12, loads_u64_4096) X(13, immediates_u64_4096)
KINDS(KIND)

void reads(void)
{
	long calls = number("calls", 1, 1000, 20);

	thrash_setup();
	pin(0);
	if (mkdir("/debug", 0700) || mount("none", "/debug", "debugfs", 0, ""))
		fail_errno("mount of debugfs");
	load("test_imv_reads");
	tell("progress reads of variables, %ld calls each", calls);
#define COUNT(label, name)	count_##name(calls);
	KINDS(COUNT)
	done();
}
