// SPDX-License-Identifier: GPL-2.0
/*
 * Calibration: the patterns of the module, in the kernel, and one of loads in
 * user space, begun just after a timer interrupt so that none comes between.
 */
#include <unistd.h>

#include "guest.h"

#define USER_LABEL	40
#define USER_BYTES	(16 << 10)

__attribute__((noinline)) void user_walk(const char *start, const char *end)
{
	cachemodel_begin(USER_LABEL);
	for (; start != end; start += LINE)
		asm volatile("testb %%al, (%0)" : : "r" (start) : "memory", "cc");
	cachemodel_end(USER_LABEL);
}

static void calibrate(void)
{
	char *buffer = memory(USER_BYTES, 1);

	pin(0);
	write_file("/proc/sys/kernel/printk", "7");	/* the module prints its labels */
	report("progress patterns");
	load("calibrate");
	report("label %d user", USER_LABEL);
	usleep(1000);	/* wakes up just after a timer interrupt */
	cachemodel_clear();
	user_walk(buffer, buffer + USER_BYTES);
	tag_buffer(buffer, USER_BYTES);
	load("kinds");
	done();
}

WORKLOAD(calibrate, calibrate);
