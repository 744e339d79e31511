// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the nanoseconds that it takes to read a cache line of KIB of memory, which was
 * read before 1 MiB was written to a file, on the same CPU: bystander DIRECTORY KIB
 * The write asks by POSIX_FADV_NOREUSE, which vm.nontemporal_write=1 hears.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORD	(1 << 20)
#define FILE_SIZE (64 * RECORD)
#define LAPS	64

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static double read_all(volatile char *memory, size_t size)
{
	double start = now();

	for (size_t at = 0; at < size; at += 64)
		(void)memory[at];
	return (now() - start) / (size / 64);
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static char record[RECORD];
	double times[LAPS];
	char path[4096];
	size_t size;
	char *memory;
	int file;

	if (argc != 3) {
		fprintf(stderr, "usage: bystander DIRECTORY KIB\n");
		return 2;
	}
	size = strtoul(argv[2], NULL, 10) << 10;
	memory = malloc(size);
	snprintf(path, sizeof(path), "%s/bystander.%d", argv[1], (int)getpid());
	file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (!memory || !size || file < 0 || unlink(path)) {
		perror("bystander");
		return 1;
	}
	posix_fadvise(file, 0, 0, POSIX_FADV_NOREUSE);
	memset(memory, 1, size);
	memset(record, 2, sizeof(record));
	for (int lap = 0; lap < LAPS; lap++) {
		read_all(memory, size);
		if (pwrite(file, record, RECORD, (off_t)lap * RECORD % FILE_SIZE) != RECORD) {
			perror(path);
			return 1;
		}
		times[lap] = read_all(memory, size);
	}
	qsort(times, LAPS, sizeof(times[0]), by_time);
	printf("%.3f ns\n", times[LAPS / 2]);
	return 0;
}
