// SPDX-License-Identifier: GPL-2.0
/*
 * System calls of everyday programs, each under a label of its own. Between two
 * of them a buffer is written, as a program with data of its own would do; that
 * is not counted. Words: reps= (of each, that are counted), thrash_kib= (of the
 * buffer; 0 for none).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define WARM		3	/* before what is counted */
#define MAPPED_PAGES	4

static int file, pipe_ends[2];

static void open_close(void)
{
	int fd = open("/init", O_RDONLY);

	if (fd < 0 || close(fd))
		fail_errno("open and close");
}

static void map_unmap(void)
{
	volatile char *pages = mmap(NULL, MAPPED_PAGES * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		fail_errno("mmap");
	for (int page = 0; page < MAPPED_PAGES; page++)
		pages[page * PAGE] = 1;
	if (munmap((char *)pages, MAPPED_PAGES * PAGE))
		fail_errno("munmap");
}

static void append_page(void)
{
	static char page[PAGE];

	if (write(file, page, PAGE) != PAGE)
		fail_errno("write to a file in memory");
}

static void poll_pipe(void)
{
	struct pollfd ready = { .fd = pipe_ends[0], .events = POLLIN };

	if (poll(&ready, 1, 0) != 1)
		fail_errno("poll");
}

static void fork_exit(void)
{
	pid_t child = fork();

	if (child < 0)
		fail_errno("fork");
	if (!child)
		_exit(0);
	if (waitpid(child, NULL, 0) != child)
		fail_errno("waitpid");
}

/* A label has to be a constant: a function of its own for each */
#define CALL(label, name)						\
static void count_##name(long reps)					\
{									\
	tell("label %d " #name, label);					\
	for (int i = 0; i < WARM; i++)					\
		name();							\
	settle();							\
	while (reps--) {						\
		thrash();						\
		cachemodel_begin_all(label);				\
		cachemodel_unit(label);					\
		name();							\
		cachemodel_end_all(label);				\
	}								\
}

#define CALLS(X)							\
	X(1, open_close) X(2, map_unmap) X(3, append_page)		\
	X(4, poll_pipe) X(5, fork_exit)
CALLS(CALL)

void syscalls(void)
{
	long reps = number("reps", 1, 1000, 20);

	thrash_setup();
	pin(0);
	file = memfd_create("appended", 0);
	if (file < 0 || pipe(pipe_ends) || write(pipe_ends[1], "x", 1) != 1)
		fail_errno("a file in memory and a pipe");
	tell("progress system calls, %ld of each", reps);
#define COUNT(label, name)	count_##name(reps);
	CALLS(COUNT)
	done();
}
