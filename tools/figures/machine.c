// SPDX-License-Identifier: GPL-2.0
/*
 * Prints, as JSON, the frequency of the time-stamp counter in kHz, measured with the clock over half a second, and the
 * hypervisor by the name that it gives itself, or none.
 */
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(void)
{
	const struct timespec half = { .tv_nsec = 500000000 };
	unsigned int eax, words[3], ecx;
	char name[sizeof(words) + 1] = "none";
	int64_t start, end;
	uint64_t cycles;

	if (__get_cpuid(1, &eax, &words[0], &ecx, &words[2]) && ecx >> 31) {
		__cpuid(0x40000000, eax, words[0], words[1], words[2]);
		memset(name, 0, sizeof(name));
		memcpy(name, words, sizeof(words));
	}
	start = now();
	cycles = __rdtsc();
	nanosleep(&half, NULL);
	end = now();
	cycles = __rdtsc() - cycles;
	printf("{\"tsc_khz\": %llu, \"hypervisor\": \"%s\"}\n",
	       (unsigned long long)(cycles * 1000000 / (uint64_t)(end - start)), name);
	return 0;
}
