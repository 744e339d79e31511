// SPDX-License-Identifier: GPL-2.0
/*
 * Workload ioctl: ioctls that copy 8 bytes in and 8 bytes out, twice
 * (modules/ioctls.c), two of a terminal that copy 8 bytes once, in and out:
 * TIOCSWINSZ, TIOCGWINSZ, and, if the kernel has vgem, two of drm_ioctl():
 * GEM_FLINK, which copies 8 bytes in and out, and GET_CAP, which copies 16. And
 * other system calls that copy a small structure: rt_sigprocmask (8 bytes in and
 * out), clock_getres (16 out), epoll_ctl (12 in), sigaltstack (24 out),
 * rt_sigaction (32 out). Setting: calls= (of each, that are counted).
 */
#define _GNU_SOURCE
#include <drm/drm.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "count.h"
#include "ioctls.h"

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

/* result: -1 for a call that fails after the copy */
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

static void ioctls(void)
{
	struct winsize size = { .ws_row = 25, .ws_col = 80 }, sent = size;
	long calls = number("calls", 1, 100000, 100);
	int device, terminal;

	pin(0);
	load("ioctls");
	device = must(open("/dev/cachemodel_ioctls", O_RDWR), "/dev/cachemodel_ioctls");
	mount_at("none", "devpts", "/dev/pts", "ptmxmode=0666");
	terminal = must(open("/dev/pts/ptmx", O_RDWR | O_NOCTTY), "/dev/pts/ptmx");
	report("progress ioctls, %ld of each", calls);
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

WORKLOAD(ioctl, ioctls);
