// SPDX-License-Identifier: GPL-2.0
/*
 * System calls, each kind under a label of its own. Between two of reads and
 * syscalls a buffer is written, as a program with data of its own would do; that
 * is not counted. Word thrash_kib= (its size; 0 for none).
 *
 * ioctl: ioctls that copy 8 bytes in and 8 bytes out, twice (modules/ioctls.c),
 * two of a terminal that copy 8 bytes once, in and out: TIOCSWINSZ, TIOCGWINSZ,
 * and, if the kernel has vgem, two of drm_ioctl(): GEM_FLINK, which copies 8
 * bytes in and out, and GET_CAP, which copies 16. And other system calls that
 * copy a small structure: rt_sigprocmask (8 bytes in and out), clock_getres (16
 * out), epoll_ctl (12 in), sigaltstack (24 out), rt_sigaction (32 out). Word:
 * calls= (of each, that are counted).
 *
 * pread: 4 KiB of a file in memory to a buffer that starts 0, 1, 8, 15, 16, 64 or
 * 4095 bytes above the start of a page: at that distance from the source, modulo
 * 4 KiB; and pwrite() of 4 KiB to distances of 8 and 16. And 2000 bytes by splice() from one file
 * in memory to another, which memcpy() copies to distances of 8, 16 and 64. Word: calls= (of each).
 *
 * reads: system calls that read 32, 128 or 4096 variables, as loads and as
 * immediate values: module test_imv_reads of the kernel. Word: calls=.
 *
 * syscalls: system calls of everyday programs. Word: reps=.
 */
#define _GNU_SOURCE
#include <drm/drm.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../ioctls.h"
#include "guest.h"

#define WARM		3	/* of syscalls, before what is counted */
#define MAPPED_PAGES	4

static volatile char *thrashed;
static long thrashed_size;
static int file, spliced, pipe_ends[2], sockets[2], epoll;

static void thrash_setup(void)
{
	thrashed_size = number("thrash_kib", 0, 1 << 16, 2048) << 10;
	thrashed = aligned_alloc(PAGE, thrashed_size + PAGE);
	if (!thrashed)
		fail("no memory for thrash_kib=");
}

static void thrash(void)
{
	for (long at = 0; at < thrashed_size; at += LINE)
		thrashed[at]++;
}

/*
 * A label has to be a constant: a function of its own for each. all: empty, or
 * _all to count on all CPUs; first: what is done before, and not counted.
 */
#define COUNT(function, label, name, all, first, call)			\
static void function(long calls, int fd, void *argument)		\
{									\
	(void)fd;							\
	(void)argument;							\
	tell("label %d " #name, label);					\
	first;								\
	settle();							\
	while (calls--) {						\
		thrash();						\
		cachemodel_begin##all(label);				\
		cachemodel_unit(label);					\
		call;							\
		cachemodel_end##all(label);				\
	}								\
}

#define COUNT_IOCTL(label, name, number)				\
	COUNT(ioctl_##name, label, name, ,				\
	      must(ioctl(fd, number, argument), #name), ioctl(fd, number, argument))

COUNT_IOCTL(1, nothing, IOCTLS_NOTHING)
COUNT_IOCTL(2, constant, IOCTLS_CONSTANT)
COUNT_IOCTL(3, called, IOCTLS_CALLED)
COUNT_IOCTL(5, set_winsize, TIOCSWINSZ)
COUNT_IOCTL(6, get_winsize, TIOCGWINSZ)
COUNT_IOCTL(7, gem_flink, DRM_IOCTL_GEM_FLINK)
COUNT_IOCTL(8, get_cap, DRM_IOCTL_GET_CAP)

/* result: -1 for a call that fails behind the copy */
#define COUNT_SYSCALL(label, name, result, ...)				\
	COUNT(syscall_##name, label, name, ,				\
	      if (syscall(__VA_ARGS__) != (result)) fail_errno(#name),	\
	      syscall(__VA_ARGS__))

COUNT_SYSCALL(10, sigprocmask, 0, SYS_rt_sigprocmask, SIG_BLOCK, argument, argument, 8)
COUNT_SYSCALL(11, clock_getres, 0, SYS_clock_getres, CLOCK_MONOTONIC, argument)
COUNT_SYSCALL(12, epoll_ctl, -1, SYS_epoll_ctl, fd, EPOLL_CTL_MOD, 0, argument)
COUNT_SYSCALL(13, sigaltstack, 0, SYS_sigaltstack, NULL, argument)
COUNT_SYSCALL(14, sigaction, 0, SYS_rt_sigaction, SIGUSR1, NULL, argument, 8)

static void count_syscalls(long calls)
{
	uint64_t argument[8] = {};
	int fd = must(epoll_create1(0), "epoll_create1");

	syscall_sigprocmask(calls, fd, argument);
	syscall_clock_getres(calls, fd, argument);
	syscall_epoll_ctl(calls, fd, argument);
	syscall_sigaltstack(calls, fd, argument);
	syscall_sigaction(calls, fd, argument);
}

/* A card without a screen, whose buffers are plain memory */
static void count_vgem(long calls)
{
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 64, .bpp = 32 };
	struct drm_get_cap cap = { .capability = DRM_CAP_TIMESTAMP_MONOTONIC };
	struct drm_gem_flink flink = {};
	int card = open("/dev/dri/card0", O_RDWR);

	if (card < 0 && errno == ENOENT)
		return;
	must(card, "/dev/dri/card0");
	must(ioctl(card, DRM_IOCTL_MODE_CREATE_DUMB, &dumb), "DRM_IOCTL_MODE_CREATE_DUMB");
	flink.handle = dumb.handle;
	ioctl_gem_flink(calls, card, &flink);
	if (!flink.name || flink.handle != dumb.handle)
		fail("the buffer has no name");
	ioctl_get_cap(calls, card, &cap);
	if (cap.value != 1 || cap.capability != DRM_CAP_TIMESTAMP_MONOTONIC)
		fail("the clock of the card is %llu", cap.value);
}

void ioctls(void)
{
	struct winsize size = { .ws_row = 25, .ws_col = 80 }, sent = size;
	long calls = number("calls", 1, 100000, 100);
	int device, terminal;

	pin(0);
	load("ioctls");
	device = must(open("/dev/cachemodel_ioctls", O_RDWR), "/dev/cachemodel_ioctls");
	mount_at("none", "devpts", "/dev/pts", "ptmxmode=0666");
	terminal = must(open("/dev/pts/ptmx", O_RDWR | O_NOCTTY), "/dev/pts/ptmx");
	tell("progress ioctls, %ld of each", calls);
	ioctl_nothing(calls, device, &size);
	ioctl_constant(calls, device, &size);
	ioctl_called(calls, device, &size);
	ioctl_set_winsize(calls, terminal, &size);
	ioctl_get_winsize(calls, terminal, &size);
	if (memcmp(&size, &sent, sizeof(size)))
		fail("the size came back as another");
	count_syscalls(calls);
	count_vgem(calls);
	done();
}

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

void preads(void)
{
	static char buffer[2 * PAGE] __attribute__((aligned(PAGE)));
	long calls = number("calls", 1, 100000, 20);
	char *end = buffer + PAGE;

	pin(0);
	file = must(memfd_create("copied", 0), "a file in memory");
	must(write(file, buffer, PAGE), "write to a file in memory");
	tell("progress copies of a page, %ld of each", calls);
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

void reads(void)
{
	long calls = number("calls", 1, 1000, 20);

	thrash_setup();
	pin(0);
	mount_at("none", "debugfs", "/debug", "");
	load("test_imv_reads");
	tell("progress reads of variables, %ld calls each", calls);
#define READ(label, name)						\
	read_##name(calls, must(open("/debug/imv_reads/" #name, O_RDONLY), #name), NULL);
	READS(READ)
	done();
}

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

void syscalls(void)
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
	tell("progress system calls, %ld of each", reps);
#define CALL(label, name)	call_##name(reps, -1, NULL);
	CALLS(CALL)
	done();
}
