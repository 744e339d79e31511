// SPDX-License-Identifier: GPL-2.0
/*
 * A device whose ioctls copy a structure of 8 bytes in and one of 8 bytes out,
 * twice, and do nothing else: the microbenchmark that x86's user copies were
 * once looked at with.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "ioctls.h"

#define COPY(name, from, to)						\
static noinline int name(void __user *argument)				\
{									\
	u64 data;							\
									\
	if (from(&data, argument, sizeof(data)))			\
		return -EFAULT;						\
	return to(argument, &data, sizeof(data)) ? -EFAULT : 0;		\
}

/* A structure: the size is a constant. Without X86_USERCOPY_CONST: a call each */
COPY(copy_constant, copy_from_user, copy_to_user)
COPY(copy_called, _copy_from_user, _copy_to_user)

static long ioctls_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *argument = (void __user *)arg;

	switch (cmd) {
	case IOCTLS_NOTHING:
		return 0;
	case IOCTLS_CONSTANT:
		return copy_constant(argument) ?: copy_constant(argument);
	case IOCTLS_CALLED:
		return copy_called(argument) ?: copy_called(argument);
	}
	return -ENOTTY;
}

static const struct file_operations ioctls_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = ioctls_ioctl,
};

static struct miscdevice ioctls_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "cachemodel_ioctls",
	.fops = &ioctls_fops,
};
module_misc_device(ioctls_device);

MODULE_DESCRIPTION("Ioctls that copy 8 bytes in and out, for the cache model");
MODULE_LICENSE("GPL");
