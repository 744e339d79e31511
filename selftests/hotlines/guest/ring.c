// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of tasks on one CPU that pass a token on: each pass is one context
 * switch, or two where the one who passed it on is preempted. Kinds of rings:
 *
 *   pipe	processes, the token is a byte in a pipe
 *   futex	processes, the token is a futex in memory that they share
 *   threads	threads of one process, the token is a futex
 *
 * Workload ring is one of them. Settings: kind=, tasks= (how many), rounds= (that
 * are counted), warm= (before them), perturb= (how many processes come and in
 * part go before, so that memory is laid out in another way).
 *
 * Workload rings is one after the other, each under a label KIND_TASKS. Settings:
 * kinds= and tasks= (lists with colons), switches= (that are counted of each),
 * warm= (rounds before them, at least) and perturb=. A ring is stopped
 * where the token came back to its first task, and no task of it ever leaves
 * its loop: none ends before the last page's kind was tagged, and each ring gets
 * memory that no ring before it had.
 *
 * Workload crossing is workload rings with two CPUs: the tasks of a ring are on
 * them by turns, so that each pass wakes a task of the other CPU.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

#define RING_LABEL	1
#define MAX_TASKS	4096
#define MAX_RINGS	32
#define THREAD_STACK	(64 << 10)

enum kind { PIPE, FUTEX, THREADS, KINDS };

static const char * const kind_names[KINDS] = { "pipe", "futex", "threads" };

/* The ring of this process: one for each */
static enum kind kind;
static long tasks;

static int pipes[MAX_TASKS][2];

/* Where a task waits for the token if that is a futex: a line of its own */
static struct place {
	unsigned int token __attribute__((aligned(64)));
} *places;

static void pass_on(long from, long to)
{
	char token;

	if (read(pipes[from][0], &token, 1) != 1 ||
	    write(pipes[to][1], &token, 1) != 1)
		fail("the token is lost at task %ld", to);
}

static long futex(unsigned int *word, int op, unsigned int value)
{
	return syscall(SYS_futex, word,
		       kind == THREADS ? op | FUTEX_PRIVATE_FLAG : op, value,
		       NULL, NULL, 0);
}

static void take(long task)
{
	unsigned int *token = &places[task].token;

	while (!__atomic_load_n(token, __ATOMIC_ACQUIRE)) {
		if (futex(token, FUTEX_WAIT, 0) && errno != EAGAIN && errno != EINTR)
			fail_errno("futex of the ring");
	}
	__atomic_store_n(token, 0, __ATOMIC_RELAXED);
}

static void give(long task)
{
	__atomic_store_n(&places[task].token, 1, __ATOMIC_RELEASE);
	if (futex(&places[task].token, FUTEX_WAKE, 1) < 0)
		fail_errno("futex of the ring");
}

/* Task 0: starts the token, counts the rounds; the others are in the ring */
static void lead_pipe(long rounds)
{
	while (rounds--) {
		char token;

		if (write(pipes[1][1], "t", 1) != 1 ||
		    read(pipes[0][0], &token, 1) != 1)
			fail("the token is lost at task 0");
	}
}

static void lead(long rounds)
{
	if (kind == PIPE)
		return lead_pipe(rounds);
	while (rounds--) {
		give(1);
		take(0);
	}
}

static void __attribute__((noreturn)) follow(long task)
{
	long next = (task + 1) % tasks;

	pin(task % sysconf(_SC_NPROCESSORS_ONLN));
	if (kind == PIPE) {
		for (;;)
			pass_on(task, next);
	}
	for (;;) {
		take(task);
		give(next);
	}
}

static void *follow_thread(void *task)
{
	follow((long)task);
}

static void make_task(long task)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (kind == THREADS) {
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, THREAD_STACK);
		errno = pthread_create(&thread, &attributes, follow_thread, (void *)task);
		if (errno)
			fail_errno("thread of the ring");
		return;
	}
	if (!must(fork(), "fork of the ring"))
		follow(task);
}

/* Make a ring; this process is its task 0 */
static void make_ring(void)
{
	if (kind == PIPE) {
		for (long task = 0; task < tasks; task++)
			must(pipe(pipes[task]), "pipe of the ring");
	} else {
		places = mmap(NULL, tasks * sizeof(*places), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (places == MAP_FAILED)
			fail_errno("memory of the ring");
	}
	for (long task = 1; task < tasks; task++)
		make_task(task);
}

static enum kind kind_of(const char *name)
{
	for (enum kind known = PIPE; known < KINDS; known++) {
		if (!strcmp(name, kind_names[known]))
			return known;
	}
	fail("kind of ring %s: pipe, futex or threads is wanted", name);
}

static void prepare(void)
{
	struct rlimit files = { 2 * MAX_TASKS + 64, 2 * MAX_TASKS + 64 };

	must(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
	pin(0);
	perturb_memory();
}

static void ring(void)
{
	long rounds = number("rounds", 1, 1000000, 50);
	long warm = number("warm", 1, 1000000, 5);

	tasks = number("tasks", 2, MAX_TASKS, 64);
	kind = kind_of(parameter("kind", "pipe"));
	prepare();
	report("label %d ring", RING_LABEL);
	make_ring();
	report("progress ring of %ld tasks, %ld rounds", tasks, rounds);
	keep_children();
	settle();
	lead(warm);
	cachemodel_begin_all(RING_LABEL);
	lead(rounds);
	cachemodel_end_all(RING_LABEL);
	/* All other tasks are in their loops, asleep or about to be */
	load("kinds");
	done();
}

/* A label has to be a constant */
static void lead_counted(int label, long rounds)
{
	switch (label) {
#define CASE(number)							\
	case number:							\
		cachemodel_begin_all(number);				\
		lead(rounds);						\
		cachemodel_end_all(number);				\
		break;
#define CASES(first)							\
	CASE(first) CASE((first) + 1) CASE((first) + 2) CASE((first) + 3) \
	CASE((first) + 4) CASE((first) + 5) CASE((first) + 6) CASE((first) + 7)
	CASES(1) CASES(9) CASES(17) CASES(25)
	}
}

/* In a process of its own, which stays, as the ring does: writes a byte when done */
static void __attribute__((noreturn)) count_ring(int label, int done_fd)
{
	long rounds = number("switches", 1, 1000000, 2000) / tasks;
	long warm = number("warm", 1, 1000, 4);

	if (rounds < warm)
		rounds = warm;
	if (warm < rounds / 4)
		warm = rounds / 4;
	signal(SIGCHLD, SIG_DFL);
	make_ring();
	report("progress ring %s of %ld tasks, %ld rounds", kind_names[kind], tasks, rounds);
	keep_children();
	settle();
	lead(warm);
	lead_counted(label, rounds);
	if (write(done_fd, "", 1) != 1)
		fail_errno("end of a ring");
	for (;;)
		pause();
}

static void one_ring(int label)
{
	char byte;
	int ends[2];

	if (tasks < 2 || tasks > MAX_TASKS)
		fail("tasks=%ld: whole numbers of 2..%d with colons are wanted", tasks, MAX_TASKS);
	if (label > MAX_RINGS)
		fail("%d rings at most", MAX_RINGS);
	report("label %d %s_%ld", label, kind_names[kind], tasks);
	must(pipe(ends), "pipe for the end of a ring");
	if (!must(fork(), "fork for a ring"))
		count_ring(label, ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		fail_errno("end of a ring");
	close(ends[0]);
	close(ends[1]);
}

static void rings(void)
{
	char *names = strdup(parameter("kinds", "pipe:futex:threads")), *name;
	int label = RING_LABEL;

	prepare();
	keep_children();
	while ((name = strsep(&names, ":"))) {
		char *sizes = strdup(parameter("tasks", "8:64")), *size;

		kind = kind_of(name);
		while ((size = strsep(&sizes, ":"))) {
			tasks = atol(size);
			one_ring(label++);
		}
	}
	load("kinds");
	done();
}

WORKLOAD(ring, ring);
WORKLOAD(rings, rings);
WORKLOAD(crossing, rings);
