// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the nanoseconds of a system call that copies a small structure, the mean of
 * a million calls: calls sigprocmask|sigaltstack|getres|epoll
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS 1000000L

static unsigned long mask;
static int epoll, pipes[2];

/* 8 bytes in, 8 out */
static long sigprocmask_call(void)
{
	unsigned long old;

	return syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &old, sizeof(mask));
}

/* 24 bytes out */
static long sigaltstack_call(void)
{
	stack_t old;

	return syscall(SYS_sigaltstack, NULL, &old);
}

/* 16 bytes out */
static long getres_call(void)
{
	struct timespec resolution;

	return syscall(SYS_clock_getres, CLOCK_PROCESS_CPUTIME_ID, &resolution);
}

/* 12 bytes in */
static long epoll_call(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	return syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_MOD, pipes[0], &event);
}

static const struct {
	const char *name;
	long (*call)(void);
} calls[] = {
	{ "sigprocmask", sigprocmask_call },
	{ "sigaltstack", sigaltstack_call },
	{ "getres", getres_call },
	{ "epoll", epoll_call },
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	double start;
	size_t i;
	long n;

	epoll = epoll_create1(0);
	if (epoll < 0 || pipe(pipes) || epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &event)) {
		perror("calls: epoll");
		return 1;
	}
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (argc != 2 || strcmp(argv[1], calls[i].name))
			continue;
		start = now();
		for (n = 0; n < CALLS; n++) {
			if (calls[i].call()) {
				perror(argv[1]);
				return 1;
			}
		}
		printf("%.2f ns\n", (now() - start) / CALLS);
		return 0;
	}
	fprintf(stderr, "usage: calls sigprocmask|sigaltstack|getres|epoll\n");
	return 2;
}
