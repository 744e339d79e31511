// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for large tables. The guest's accesses are all over them, so without
 * huge pages the model spends its time on misses of the host's TLB.
 */
#include <sys/mman.h>

#include "memory.h"

#define HUGE_PAGE	(2ul << 20)

void *table_new(size_t n, size_t size)
{
	size_t bytes = (n * size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	char *memory, *aligned;

	memory = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	aligned = (char *)(((size_t)memory + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	madvise(aligned, bytes, MADV_HUGEPAGE);
	return aligned;
}
