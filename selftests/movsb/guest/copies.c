// SPDX-License-Identifier: GPL-2.0
/*
 * Workload pread: 4 KiB of a file in memory to a buffer that starts 0, 1, 8, 15,
 * 16, 64 or 4095 bytes above the start of a page: at that distance from the
 * source, modulo 4 KiB; and pwrite() of 4 KiB to distances of 8 and 16. And 2000
 * bytes by splice() from one file in memory to another, which memcpy() copies to
 * distances of 8, 16 and 64. Setting: calls= (of each).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "count.h"

static int spliced, pipe_ends[2];

static void copy_page(int fd, void *at, ssize_t (*call)(int, void *, size_t, off_t))
{
	if (call(fd, at, PAGE, 0) != PAGE)
		fail_errno("pread or pwrite");
}

static ssize_t write_page(int fd, void *at, size_t size, off_t offset)
{
	return pwrite(fd, at, size, offset);
}

#define SPLICED 2000

static ssize_t splice_bytes(int fd, void *at, size_t size, off_t offset)
{
	off_t to = (uintptr_t)at % PAGE;

	if (splice(fd, &offset, pipe_ends[1], NULL, SPLICED, 0) != SPLICED ||
	    splice(pipe_ends[0], NULL, spliced, &to, SPLICED, 0) != SPLICED)
		fail_errno("splice");
	return size;
}

#define COUNT_COPY(label, name, call)					\
	COUNT(copy_##name, label, name, , copy_page(fd, argument, call), \
	      copy_page(fd, argument, call))
#define COPIES(X)							\
	X(1, pread_0, pread) X(2, pread_1, pread) X(3, pread_8, pread)	\
	X(4, pread_15, pread) X(5, pread_16, pread) X(6, pread_64, pread) \
	X(7, pread_4095, pread)						\
	X(8, pwrite_8, write_page) X(9, pwrite_16, write_page)		\
	X(10, splice_8, splice_bytes) X(11, splice_16, splice_bytes)	\
	X(12, splice_64, splice_bytes)
COPIES(COUNT_COPY)

static void preads(void)
{
	static char buffer[2 * PAGE] __attribute__((aligned(PAGE)));
	long calls = number("calls", 1, 100000, 20);
	char *end = buffer + PAGE;
	int file;

	pin(0);
	file = must(memfd_create("copied", 0), "a file in memory");
	must(write(file, buffer, PAGE), "write to a file in memory");
	report("progress copies of a page, %ld of each", calls);
	copy_pread_0(calls, file, buffer);
	copy_pread_1(calls, file, buffer + 1);
	copy_pread_8(calls, file, buffer + 8);
	copy_pread_15(calls, file, buffer + 15);
	copy_pread_16(calls, file, buffer + 16);
	copy_pread_64(calls, file, buffer + 64);
	copy_pread_4095(calls, file, buffer + 4095);
	copy_pwrite_8(calls, file, end - 8);
	copy_pwrite_16(calls, file, end - 16);
	must(pipe(pipe_ends), "pipe");
	spliced = must(memfd_create("spliced", 0), "a file in memory");
	must(write(spliced, buffer, PAGE), "write to a file in memory");
	copy_splice_8(calls, file, buffer + 8);
	copy_splice_16(calls, file, buffer + 16);
	copy_splice_64(calls, file, buffer + 64);
	done();
}

WORKLOAD(pread, preads);
