// SPDX-License-Identifier: GPL-2.0
/*
 * A ring of processes on one CPU that pass a token on through pipes: each pass
 * is one context switch, or two where the one who passed it on is preempted.
 * Words: tasks= (how many), rounds= (that are counted), warm= (before them),
 * perturb= (how many processes come and in part go before, so that memory is
 * laid out in another way).
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "guest.h"

#define RING_LABEL	1
#define MAX_TASKS	4096

static int pipes[MAX_TASKS][2];

static void pass_on(long from, long to)
{
	char token;

	if (read(pipes[from][0], &token, 1) != 1 ||
	    write(pipes[to][1], &token, 1) != 1)
		fail("the token is lost at task %ld", to);
}

/* Task 0: starts the token, counts the rounds; the others are in the ring */
static void lead(long rounds)
{
	while (rounds--) {
		char token;

		if (write(pipes[1][1], "t", 1) != 1 ||
		    read(pipes[0][0], &token, 1) != 1)
			fail("the token is lost at task 0");
	}
}

void ring(void)
{
	long tasks = number("tasks", 2, MAX_TASKS, 64);
	long rounds = number("rounds", 1, 1000000, 50);
	long warm = number("warm", 1, 1000000, 5);
	struct rlimit files = { 2 * MAX_TASKS + 64, 2 * MAX_TASKS + 64 };

	if (setrlimit(RLIMIT_NOFILE, &files))
		fail_errno("setrlimit");
	pin(0);
	perturb_memory();
	tell("label %d ring", RING_LABEL);
	for (long task = 0; task < tasks; task++) {
		if (pipe(pipes[task]))
			fail_errno("pipe of the ring");
	}
	for (long task = 1; task < tasks; task++) {
		pid_t child = fork();

		if (child < 0)
			fail_errno("fork of the ring");
		while (!child)
			pass_on(task, (task + 1) % tasks);
	}
	tell("progress ring of %ld tasks, %ld rounds", tasks, rounds);
	keep_children();
	settle();
	lead(warm);
	cachemodel_begin_all(RING_LABEL);
	lead(rounds);
	cachemodel_end_all(RING_LABEL);
	/* All other tasks are in their loops, asleep or about to be */
	tell_tasks();
	done();
}
