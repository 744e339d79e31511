// SPDX-License-Identifier: GPL-2.0
/*
 * Times a walk over the task_structs of Linux 2.4 under one spinlock, as schedule() made it: one
 * cache line at the bottom of 8 KiB for each task. User space, real CPU.
 *
 * usage: lock SETS ROUNDS
 *
 * SETS: sets of the L2 cache. Layouts: uncoloured, the same again (noise), and the four colours of
 * 2001, by the two address bits above the index of L2. As many threads as CPUs, at most four, one
 * on each CPU, take the lock and walk, then work for a time that does not depend on the layout.
 * Prints lines of JSON for each number of tasks, layout and round: cycles of the time-stamp counter
 * for which the lock is held, mean and maximum, and the acquisitions in percent that wait.
 */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <x86intrin.h>

#include "tsc.h"

#define LINE		64UL
#define AREA		8192UL		/* bytes for each task */
#define COLOURS		4
#define MAX_TASKS	4096UL
#define MAX_THREADS	4U
#define HUGE_PAGE	(2UL << 20)
#define ACQUISITIONS	100		/* of each thread in one sample */
#define WORK		100		/* cycles for each task between two acquisitions, mean */

static const unsigned long counts[] = { 64, 256, 1024, MAX_TASKS };
static const char * const layouts[] = { "uncoloured", "uncoloured_again", "4" };
#define LAYOUTS (sizeof(layouts) / sizeof(*layouts))

static struct {
	pthread_barrier_t start;
	void **first;
	unsigned long tasks;
	int taken __attribute__((aligned(128)));
} shared;

static struct thread {
	pthread_t id;
	unsigned int cpu;
	uint32_t random;
	uint64_t held, longest, contended;
} __attribute__((aligned(128))) threads[MAX_THREADS];

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Link the lines of the tasks in a random order, the same for each layout */
static void **chain(char *memory, unsigned long tasks, unsigned long sets, bool coloured)
{
	static void **lines[MAX_TASKS];
	uint32_t random = 2463534242;

	for (unsigned long i = 0; i < tasks; i++) {
		unsigned long colour = coloured ? i * (AREA / LINE) / sets % COLOURS : 0;

		lines[i] = (void **)(memory + i * AREA + colour * LINE);
	}
	for (unsigned long i = tasks - 1; i; i--) {
		unsigned long other = next_random(&random) % (i + 1);
		void **line = lines[i];

		lines[i] = lines[other];
		lines[other] = line;
	}
	for (unsigned long i = 0; i < tasks; i++)
		*lines[i] = lines[(i + 1) % tasks];
	return lines[0];
}

static void **walk(void **line, unsigned long steps)
{
	while (steps--)
		line = *line;
	asm volatile("" : "+r" (line));
	return line;
}

/* Returns true if the lock was taken by the other thread */
static bool take(void)
{
	bool contended = __atomic_exchange_n(&shared.taken, 1, __ATOMIC_ACQUIRE);

	if (!contended)
		return false;
	do {
		while (__atomic_load_n(&shared.taken, __ATOMIC_RELAXED))
			_mm_pause();
	} while (__atomic_exchange_n(&shared.taken, 1, __ATOMIC_ACQUIRE));
	return true;
}

/* Half to one and a half of WORK for each task: else two threads fall into step */
static void work(struct thread *t)
{
	uint64_t mean = shared.tasks * WORK;
	uint64_t end = __rdtsc() + mean / 2 + next_random(&t->random) % mean;

	while (__rdtsc() < end)
		_mm_pause();
}

static void *schedule(void *argument)
{
	struct thread *t = argument;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(t->cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		errx(1, "pthread_setaffinity_np fails");
	walk(shared.first, 2 * shared.tasks);
	pthread_barrier_wait(&shared.start);
	for (int i = 0; i < ACQUISITIONS; i++) {
		uint64_t start, held;
		void **chosen;

		t->contended += take();
		start = cycles();
		chosen = walk(shared.first, shared.tasks + next_random(&t->random) % 8);
		((uint64_t *)chosen)[1]++;	/* what schedule() writes of the task it chooses */
		held = cycles() - start;
		__atomic_store_n(&shared.taken, 0, __ATOMIC_RELEASE);
		t->held += held;
		if (held > t->longest)
			t->longest = held;
		work(t);
	}
	return NULL;
}

static void sample(const char *layout, unsigned int n)
{
	uint64_t held = 0, longest = 0, contended = 0;

	pthread_barrier_init(&shared.start, NULL, n);
	for (unsigned int i = 0; i < n; i++) {
		threads[i].held = threads[i].longest = threads[i].contended = 0;
		threads[i].random = 2463534242 + i;
		if (pthread_create(&threads[i].id, NULL, schedule, &threads[i]))
			errx(1, "pthread_create fails");
	}
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(threads[i].id, NULL);
		held += threads[i].held;
		contended += threads[i].contended;
		if (threads[i].longest > longest)
			longest = threads[i].longest;
	}
	pthread_barrier_destroy(&shared.start);
	const char *format = "{\"cell\": \"%lu_%s\", \"layout\": \"%s\", \"cycles\": %.3f}\n";

	printf(format, shared.tasks, "mean", layout, (double)held / n / ACQUISITIONS);
	printf(format, shared.tasks, "max", layout, (double)longest);
	printf(format, shared.tasks, "contended", layout, 100.0 * contended / n / ACQUISITIONS);
}

int main(int argc, char **argv)
{
	unsigned long sets = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	long rounds = argc == 3 ? atol(argv[2]) : 0;
	size_t bytes = MAX_TASKS * AREA;
	unsigned int n = 0;
	cpu_set_t set;
	char *memory;

	if (!sets || rounds < 1)
		errx(2, "usage: lock SETS ROUNDS");
	if (sched_getaffinity(0, sizeof(set), &set))
		err(1, "sched_getaffinity");
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE && n < MAX_THREADS; cpu++)
		if (CPU_ISSET(cpu, &set))
			threads[n++].cpu = cpu;
	memory = aligned_alloc(HUGE_PAGE, bytes);
	if (!memory)
		errx(1, "out of memory");
	madvise(memory, bytes, MADV_HUGEPAGE);
	memset(memory, 1, bytes);
	for (long round = 0; round < rounds; round++) {
		for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
			for (size_t l = 0; l < LAYOUTS; l++) {
				size_t layout = (l + round) % LAYOUTS;

				shared.tasks = counts[c];
				shared.first = chain(memory, counts[c], sets, layout == LAYOUTS - 1);
				sample(layouts[layout], n);
			}
		}
	}
	return 0;
}
