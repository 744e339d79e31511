/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls that are counted one by one, each kind under a label of its own.
 * Between two of them thrash() writes a buffer of thrash_kib= KiB, as a
 * program with data of its own would do; that is not counted.
 */
#ifndef CACHEMODEL_COUNT_H
#define CACHEMODEL_COUNT_H

#include "guest.h"

/* Before the first call is counted; without it nothing is written between */
void thrash_setup(void);
void thrash(void);

/*
 * A label has to be a constant: a function of its own for each. all: empty, or
 * _all to count on all CPUs; first: what is done before, and not counted.
 */
#define COUNT(function, label, name, all, first, call)			\
static void function(long calls, int fd, void *argument)		\
{									\
	(void)fd;							\
	(void)argument;							\
	report("label %d " #name, label);					\
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

#endif
