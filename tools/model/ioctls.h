/* SPDX-License-Identifier: GPL-2.0 */
/* The numbers of the ioctls of modules/ioctls.c, for it and for the workload ioctl. */
#ifndef CACHEMODEL_IOCTLS_H
#define CACHEMODEL_IOCTLS_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define IOCTLS_NOTHING	_IO('U', 1)
#define IOCTLS_CONSTANT	_IOWR('U', 2, __u64)
#define IOCTLS_CALLED	_IOWR('U', 3, __u64)

#endif
