// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctls that copy 8 bytes in and 8 bytes out, twice (modules/ioctls.c), and
 * two of a terminal that copy 8 bytes once, in and out: TIOCSWINSZ, TIOCGWINSZ.
 * Word: calls= (of each, that are counted).
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../ioctls.h"
#include "guest.h"

static int open_or_fail(const char *path)
{
	int fd = open(path, O_RDWR | O_NOCTTY);

	if (fd < 0)
		fail_errno(path);
	return fd;
}

/* A label has to be a constant: a function of its own for each */
#define KIND(label, name, number)					\
static void count_##name(int fd, long calls)				\
{									\
	struct winsize argument = { .ws_row = 25, .ws_col = 80 };	\
	struct winsize before = argument;				\
									\
	tell("label %d " #name, label);					\
	if (ioctl(fd, number, &argument))				\
		fail_errno(#name);					\
	settle();							\
	while (calls--) {						\
		cachemodel_begin(label);				\
		cachemodel_unit(label);					\
		ioctl(fd, number, &argument);				\
		cachemodel_end(label);					\
	}								\
	if (memcmp(&argument, &before, sizeof(argument)))		\
		fail(#name " gave back other bytes");			\
}

KIND(1, nothing, IOCTLS_NOTHING)
KIND(2, constant, IOCTLS_CONSTANT)
KIND(3, called, IOCTLS_CALLED)
KIND(4, sized, IOCTLS_SIZED)
KIND(5, set_winsize, TIOCSWINSZ)
KIND(6, get_winsize, TIOCGWINSZ)

void ioctls(void)
{
	long calls = number("calls", 1, 100000, 100);
	int device, terminal;

	pin(0);
	load("ioctls");
	device = open_or_fail("/dev/cachemodel_ioctls");
	mkdir("/dev/pts", 0755);
	if (mount("none", "/dev/pts", "devpts", 0, "ptmxmode=0666"))
		fail_errno("mount of devpts");
	terminal = open_or_fail("/dev/pts/ptmx");
	tell("progress ioctls, %ld of each", calls);
	count_nothing(device, calls);
	count_constant(device, calls);
	count_called(device, calls);
	count_sized(device, calls);
	count_set_winsize(terminal, calls);
	count_get_winsize(terminal, calls);
	done();
}
