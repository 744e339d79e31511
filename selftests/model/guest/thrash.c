// SPDX-License-Identifier: GPL-2.0
/* A buffer that is written between two calls, as a program with data of its own would do */
#include <stdlib.h>

#include "guest.h"

#define LINE	64

static char *buffer;
static long buffer_size;

void thrash_setup(void)
{
	buffer_size = number("thrash_kib", 0, 1 << 16, 2048) << 10;
	buffer = aligned_alloc(PAGE, buffer_size + PAGE);
	if (!buffer)
		fail("no memory for thrash_kib=");
}

void thrash(void)
{
	for (long at = 0; at < buffer_size; at += LINE)
		((volatile char *)buffer)[at]++;
}
