/* SPDX-License-Identifier: GPL-2.0 */
/* The time-stamp counter, read when all before has been done and before anything behind it begins */
#include <stdint.h>
#include <x86intrin.h>

static uint64_t cycles(void)
{
	uint64_t now;

	_mm_mfence();
	_mm_lfence();
	now = __rdtsc();
	_mm_lfence();
	return now;
}
