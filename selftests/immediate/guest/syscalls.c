// SPDX-License-Identifier: GPL-2.0
/* Workload syscalls: system calls of everyday programs. Settings: reps=, thrash_kib=. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count.h"

#define WARM		3	/* before what is counted */
#define MAPPED_PAGES	4

static int file, pipe_ends[2], sockets[2], epoll;

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

static void read_page(void)
{
	static char page[PAGE];

	if (pread(file, page, PAGE, 0) != PAGE)
		fail_errno("read of a file in memory");
}

static void send_receive(void)
{
	char text[64] = "";

	if (send(sockets[0], text, sizeof(text), 0) != sizeof(text) ||
	    recv(sockets[1], text, sizeof(text), 0) != sizeof(text))
		fail_errno("send and recv");
}

static void epoll_ready(void)
{
	struct epoll_event event;

	if (epoll_wait(epoll, &event, 1, 0) != 1)
		fail_errno("epoll_wait");
}

static void futex_wake(void)
{
	static int word;

	if (syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0))
		fail_errno("futex");
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

/* This program ends at once where it is not the first process */
static void execute(void)
{
	pid_t child = vfork();

	if (!child) {
		execl("/init", "init", NULL);
		_exit(1);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		fail_errno("vfork and exec");
}

#define COUNT_CALL(label, name)		\
	COUNT(call_##name, label, name, _all,	\
	      for (int i = 0; i < WARM; i++) name(), name())
#define CALLS(X)							\
	X(1, open_close) X(2, map_unmap) X(3, append_page)		\
	X(4, poll_pipe) X(5, fork_exit) X(6, read_page)			\
	X(7, send_receive) X(8, epoll_ready) X(9, futex_wake) X(10, execute)
CALLS(COUNT_CALL)

static void syscalls(void)
{
	struct epoll_event ready = { .events = EPOLLIN };
	long reps = number("reps", 1, 1000, 20);
	static const char zeroes[PAGE];

	thrash_setup();
	pin(0);
	file = must(memfd_create("appended", 0), "a file in memory");
	if (pipe(pipe_ends) || write(pipe_ends[1], "x", 1) != 1)
		fail_errno("a pipe");
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "a pair of sockets");
	must(write(file, zeroes, PAGE), "write to a file in memory");
	epoll = must(epoll_create1(0), "epoll_create1");
	must(epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_ends[0], &ready), "epoll_ctl");
	report("progress system calls, %ld of each", reps);
#define CALL(label, name)	call_##name(reps, -1, NULL);
	CALLS(CALL)
	done();
}

WORKLOAD(syscalls, syscalls);
