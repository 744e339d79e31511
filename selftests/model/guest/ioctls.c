// SPDX-License-Identifier: GPL-2.0
/*
 * Ioctls that copy 8 bytes in and 8 bytes out, twice (modules/ioctls.c), two of
 * a terminal that copy 8 bytes once, in and out: TIOCSWINSZ, TIOCGWINSZ, and,
 * if the kernel has vgem, two of drm_ioctl(): GEM_FLINK, which copies 8 bytes
 * in and out, and GET_CAP, which copies 16.
 * Word: calls= (of each, that are counted).
 */
#include <drm/drm.h>
#include <errno.h>
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

/*
 * A label has to be a constant: a function of its own for each. The argument
 * is the same after each call but the first.
 */
#define KIND(label, name, number)					\
static void count_##name(int fd, long calls, void *argument, size_t size) \
{									\
	char before[64];						\
									\
	tell("label %d " #name, label);					\
	if (ioctl(fd, number, argument))				\
		fail_errno(#name);					\
	memcpy(before, argument, size);					\
	settle();							\
	while (calls--) {						\
		cachemodel_begin(label);				\
		cachemodel_unit(label);					\
		ioctl(fd, number, argument);				\
		cachemodel_end(label);					\
	}								\
	if (memcmp(argument, before, size))				\
		fail(#name " gave back other bytes");			\
}

KIND(1, nothing, IOCTLS_NOTHING)
KIND(2, constant, IOCTLS_CONSTANT)
KIND(3, called, IOCTLS_CALLED)
KIND(4, sized, IOCTLS_SIZED)
KIND(5, set_winsize, TIOCSWINSZ)
KIND(6, get_winsize, TIOCGWINSZ)
KIND(7, gem_flink, DRM_IOCTL_GEM_FLINK)
KIND(8, get_cap, DRM_IOCTL_GET_CAP)

/* A card without a screen, whose buffers are plain memory */
static void count_vgem(long calls)
{
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 64, .bpp = 32 };
	struct drm_get_cap cap = { .capability = DRM_CAP_TIMESTAMP_MONOTONIC };
	struct drm_gem_flink flink = {};
	int card = open("/dev/dri/card0", O_RDWR);

	if (card < 0 && errno == ENOENT)
		return;
	if (card < 0)
		fail_errno("/dev/dri/card0");
	if (ioctl(card, DRM_IOCTL_MODE_CREATE_DUMB, &dumb))
		fail_errno("DRM_IOCTL_MODE_CREATE_DUMB");
	flink.handle = dumb.handle;
	count_gem_flink(card, calls, &flink, sizeof(flink));
	if (!flink.name)
		fail("the buffer has no name");
	count_get_cap(card, calls, &cap, sizeof(cap));
	if (cap.value != 1)
		fail("the clock of the card is %llu", cap.value);
}

void ioctls(void)
{
	struct winsize size = { .ws_row = 25, .ws_col = 80 }, sent = size;
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
	count_nothing(device, calls, &size, sizeof(size));
	count_constant(device, calls, &size, sizeof(size));
	count_called(device, calls, &size, sizeof(size));
	count_sized(device, calls, &size, sizeof(size));
	count_set_winsize(terminal, calls, &size, sizeof(size));
	count_get_winsize(terminal, calls, &size, sizeof(size));
	if (memcmp(&size, &sent, sizeof(size)))
		fail("the size came back as another");
	count_vgem(calls);
	done();
}
