// SPDX-License-Identifier: GPL-2.0
/*
 * To be preloaded by fio: its option uncached has the flag that was proposed in 2019, which is
 * RWF_ATOMIC today; RWF_DONTCACHE is what it means.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define UNCACHED	0x40
#define DONTCACHE	0x80

struct iovec;

static int today(int flags)
{
	return flags & UNCACHED ? flags ^ (UNCACHED | DONTCACHE) : flags;
}

ssize_t preadv64v2(int fd, const struct iovec *iov, int n, off64_t offset, int flags)
{
	return syscall(SYS_preadv2, fd, iov, n, offset, 0, today(flags));
}

ssize_t pwritev64v2(int fd, const struct iovec *iov, int n, off64_t offset, int flags)
{
	return syscall(SYS_pwritev2, fd, iov, n, offset, 0, today(flags));
}
