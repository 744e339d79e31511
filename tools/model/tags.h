/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tags that tell the cache model what to count, for test code in the kernel
 * and in user space: eight-byte NOPs whose displacement is
 *
 *	0xca5e <op: 8 bits> <argument: 8 bits>
 *
 * Anywhere but under the cache model they do nothing. Labels are 0..47 (those
 * above are model.py's, for functions) and independent of each other: an access
 * counts for every label that is begun.
 * What is between the begin and the end is counted whoever executes it, so an
 * interrupt or another task on that CPU counts too.
 */
#ifndef CACHEMODEL_TAGS_H
#define CACHEMODEL_TAGS_H

#define CACHEMODEL_MAGIC	0xca5e
#define CACHEMODEL_BEGIN	0	/* begin a label on this CPU */
#define CACHEMODEL_END		1
#define CACHEMODEL_BEGIN_ALL	2	/* begin a label on all CPUs */
#define CACHEMODEL_END_ALL	3
#define CACHEMODEL_UNIT		4	/* one more unit of work, if it is begun */
#define CACHEMODEL_CLEAR	5	/* empty all caches, nothing is written back */
#define CACHEMODEL_KIND		6	/* next instruction's page is of this kind */
#define CACHEMODEL_OBJECT	7	/* its address begins an object of this kind */
#define CACHEMODEL_LAST		8	/* its address is the last one of that object */

/* Kinds of data; a page that was never told of is of kind 0 */
#define CACHEMODEL_OTHER	0
#define CACHEMODEL_TASK_STRUCT	1
#define CACHEMODEL_KERNEL_STACK	2
#define CACHEMODEL_PAGE_CACHE	3
#define CACHEMODEL_USER_BUFFER	4
/* These share pages with other data: of objects only */
#define CACHEMODEL_MM		5
#define CACHEMODEL_FILES	6
#define CACHEMODEL_SIGNAL	7

#define CACHEMODEL_LABELS	48
#define CACHEMODEL_TAG \
	".if (%c[arg]) < 0 || (%c[arg]) >= 48\n\t"	\
	".error \"cachemodel: no such label or kind\"\n\t"	\
	".endif\n\t"						\
	".byte 0x0f, 0x1f, 0x84, 0x00\n\t"			\
	".long 0xca5e0000 + (%c[op] << 8) + %c[arg]\n\t"

#define cachemodel_tag(op_, arg_) \
	asm volatile(CACHEMODEL_TAG : : [op] "i" (op_), [arg] "i" (arg_) : "memory")

#define cachemodel_begin(label)		cachemodel_tag(CACHEMODEL_BEGIN, label)
#define cachemodel_end(label)		cachemodel_tag(CACHEMODEL_END, label)
#define cachemodel_begin_all(label)	cachemodel_tag(CACHEMODEL_BEGIN_ALL, label)
#define cachemodel_end_all(label)	cachemodel_tag(CACHEMODEL_END_ALL, label)
#define cachemodel_unit(label)		cachemodel_tag(CACHEMODEL_UNIT, label)
#define cachemodel_clear()		cachemodel_tag(CACHEMODEL_CLEAR, 0)

#define cachemodel_address(op_, kind, address) do {			\
	unsigned char byte_;						\
	asm volatile(CACHEMODEL_TAG "movb (%[p]), %[byte]"		\
		     : [byte] "=q" (byte_)				\
		     : [p] "r" (address), [op] "i" (op_),		\
		       [arg] "i" (kind) : "memory");			\
	(void)byte_;							\
} while (0)

/* The page that address is in holds data of this kind. Loads one byte. */
#define cachemodel_kind(kind, address)	cachemodel_address(CACHEMODEL_KIND, kind, address)

/* There is an object of this kind: its lines are counted by where they are in it. Loads two bytes. */
#define cachemodel_object(kind, start, size) do {			\
	cachemodel_address(CACHEMODEL_OBJECT, kind, (const char *)(start));		\
	cachemodel_address(CACHEMODEL_LAST, kind, (const char *)(start) + (size) - 1);	\
} while (0)

#endif
