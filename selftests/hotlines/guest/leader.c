// SPDX-License-Identifier: GPL-2.0
/*
 * A process whose first thread, its leader, sleeps and is woken on CPU 0, while
 * three threads on CPUs 1 to 3 fault pages, which charges them to the leader's
 * cgroup, and another process on CPU 4 calls membarrier(), which looks at the
 * task of each CPU. They take turns: a round is one sleep of the leader, one page
 * fault of each thread, and one membarrier(). Settings: rounds= (that are counted),
 * warm= (before them), perturb=.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "guest.h"

#define LEADER_LABEL	1
#define THREADS		3
#define MEMBARRIER_CPU	(THREADS + 1)

/* In memory that all share, each on a line of its own: the turns that were taken */
static struct turn {
	unsigned long taken __attribute__((aligned(LINE)));
} *turns;

/* Waits until someone took so many turns: pause lets the emulator go on with another CPU */
static void wait_for(int who, unsigned long taken)
{
	while (__atomic_load_n(&turns[who].taken, __ATOMIC_ACQUIRE) < taken)
		_mm_pause();
}

static void take_turn(int who)
{
	__atomic_fetch_add(&turns[who].taken, 1, __ATOMIC_RELEASE);
}

/* On CPU 0: wakes the leader once for each byte that it gets */
static void __attribute__((noreturn)) wake(int ask, int answer)
{
	char byte;

	pin(0);
	for (;;) {
		if (read(ask, &byte, 1) != 1 || write(answer, &byte, 1) != 1)
			fail_errno("the leader's partner");
	}
}

static void *fault(void *number)
{
	long self = (long)number;
	volatile char *page = memory(PAGE, 0);

	pin(self);
	for (unsigned long round = 1;; round++) {
		wait_for(0, round);
		if (madvise((void *)page, PAGE, MADV_DONTNEED))
			fail_errno("madvise");
		*page = 1;
		take_turn(self);
	}
	return NULL;
}

static void __attribute__((noreturn)) barrier(void)
{
	pin(MEMBARRIER_CPU);
	for (unsigned long round = 1;; round++) {
		for (int thread = 1; thread <= THREADS; thread++)
			wait_for(thread, round);
		must(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0), "membarrier");
		take_turn(MEMBARRIER_CPU);
	}
}

static void lead(long rounds, int ask, int answer)
{
	char byte = 0;

	while (rounds--) {
		cachemodel_unit(LEADER_LABEL);
		if (write(ask, &byte, 1) != 1 || read(answer, &byte, 1) != 1)
			fail_errno("the leader");
		take_turn(0);
		wait_for(MEMBARRIER_CPU, turns[0].taken);
	}
}

static void leader(void)
{
	long rounds = number("rounds", 1, 1000000, 500), warm = number("warm", 1, 1000000, 50);
	int ask[2], answer[2];

	pin(0);
	perturb_memory();
	turns = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (turns == MAP_FAILED)
		fail_errno("memory of the turns");
	must(pipe(ask), "pipe of the leader");
	must(pipe(answer), "pipe of the leader");
	if (!must(fork(), "fork of the partner"))
		wake(ask[0], answer[1]);
	if (!must(fork(), "fork of the one who calls membarrier()"))
		barrier();
	must(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0), "membarrier");
	for (long thread = 1; thread <= THREADS; thread++) {
		pthread_t started;

		errno = pthread_create(&started, NULL, fault, (void *)thread);
		if (errno)
			fail_errno("thread of the leader");
	}
	report("label %d leader", LEADER_LABEL);
	report("progress leader, %ld rounds", rounds);
	keep_children();
	settle();
	lead(warm, ask[1], answer[0]);
	cachemodel_begin_all(LEADER_LABEL);
	lead(rounds, ask[1], answer[0]);
	cachemodel_end_all(LEADER_LABEL);
	load("kinds");
	done();
}

WORKLOAD(leader, leader);
