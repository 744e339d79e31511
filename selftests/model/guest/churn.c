// SPDX-License-Identifier: GPL-2.0
/*
 * Short-lived tasks that come and go, in random order, while a workload makes
 * its own: what those get of memory, and of colours that take turns, is then as
 * on a system where tasks end. Words: churn= (how many are there at a time, 0
 * for none), perturb= (chooses the random numbers, too).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define MAX_CHURN	256
#define MOST_AT_ONCE	7	/* so many or fewer go, and come, between two tasks */

static struct {
	pid_t task;		/* 0: none */
	char stack[PAGE] __attribute__((aligned(16)));
} places[MAX_CHURN];
static long count;
static unsigned long long state;

/* A random number below a bound, the same ones for the same perturb= (xorshift64*) */
static unsigned int chance(unsigned int below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1dull >> 32) % below;
}

static int sleep_on(void *unused)
{
	(void)unused;
	for (;;)
		syscall(SYS_pause);
	return 0;
}

static void begin(long place)
{
	/* One in four with memory of its own, as a process, the others as threads */
	int flags = SIGCHLD | (chance(4) ? CLONE_VM | CLONE_FS | CLONE_FILES : 0);

	places[place].task = clone(sleep_on, places[place].stack + PAGE, flags, NULL);
	if (places[place].task < 0)
		fail_errno("clone for churn=");
}

static void end(long place)
{
	pid_t task = places[place].task;

	if (!task)
		return;
	kill(task, SIGKILL);
	if (waitpid(task, NULL, 0) != task)
		fail_errno("waitpid for churn=");
	places[place].task = 0;
}

static void begin_missing(void)
{
	for (long place = 0; place < count; place++) {
		if (!places[place].task)
			begin(place);
	}
}

void churn_begin(void)
{
	count = number("churn", 0, MAX_CHURN, 0);
	/* Other numbers in each process that makes a ring */
	state = 0x9e3779b97f4a7c15ull * (number("perturb", 0, 400, 0) << 16 | getpid());
	begin_missing();
}

void churn(void)
{
	if (!count)
		return;
	for (unsigned int going = chance(MOST_AT_ONCE + 1); going; going--)
		end(chance(count));
	begin_missing();
}

void churn_end(void)
{
	for (; count; count--) {
		long place = chance(count);

		end(place);
		places[place].task = places[count - 1].task;
		places[count - 1].task = 0;
	}
}
