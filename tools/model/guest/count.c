// SPDX-License-Identifier: GPL-2.0
/* The buffer that is written between two counted calls. See count.h. */
#include <stdlib.h>

#include "count.h"

static volatile char *thrashed;
static long thrashed_size;

void thrash_setup(void)
{
	thrashed_size = number("thrash_kib", 0, 1 << 16, 2048) << 10;
	thrashed = aligned_alloc(PAGE, thrashed_size + PAGE);
	if (!thrashed)
		fail("no memory for thrash_kib=");
}

void thrash(void)
{
	for (long at = 0; at < thrashed_size; at += LINE)
		thrashed[at]++;
}
