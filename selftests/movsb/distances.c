// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program and counts the distances, (destination - source) modulo 4 KiB, of the copies between
 * regular files and its memory, by all of its threads and children: read(), write() and their relatives.
 *
 * usage: distances FILE PROGRAM [ARGUMENT...]
 *
 * Writes a line to FILE: copies of 64 bytes and more, their bytes, and of these the bytes at distances
 * 1 to 15, at 16, and at 17 to 31. A copy is a segment of a system call; the page cache's side is taken
 * to be the offset in the file. Files in procfs and the like, pipes and sockets are not counted, nor is
 * what is mapped, or copied by the kernel alone. Ends with the program's status.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096UL
#define THREADS 65536	/* of a table; threads that fall on one place are not counted */
#define SEGMENTS 1024
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Options that each thread inherits, and a stop by a system call that is told from a signal */
#define OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
		 PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
#define SYSCALL_STOP (SIGTRAP | 0x80)

static const struct call {
	long number;
	bool write, segments, positioned;
} calls[] = {
	{ SYS_read, false, false, false }, { SYS_write, true, false, false },
	{ SYS_pread64, false, false, true }, { SYS_pwrite64, true, false, true },
	{ SYS_readv, false, true, false }, { SYS_writev, true, true, false },
	{ SYS_preadv, false, true, true }, { SYS_pwritev, true, true, true },
	{ SYS_preadv2, false, true, true }, { SYS_pwritev2, true, true, true },
};

/* The system call that each thread is in */
static struct entered {
	pid_t thread;
	const struct call *call;
	unsigned long arguments[4];
} threads[THREADS];

static unsigned long copies, bytes, at_1_to_15, at_16, at_17_to_31;

static void count(const struct call *call, unsigned long memory, unsigned long offset, unsigned long n)
{
	unsigned long distance = (call->write ? offset - memory : memory - offset) % PAGE;

	if (n < 64)
		return;
	copies++;
	bytes += n;
	if (distance >= 1 && distance <= 15)
		at_1_to_15 += n;
	else if (distance == 16)
		at_16 += n;
	else if (distance >= 17 && distance <= 31)
		at_17_to_31 += n;
}

/* Whether a descriptor is a regular file of a file system with a page cache; its position */
static bool is_file(pid_t thread, int fd, unsigned long *position)
{
	/* procfs, sysfs, cgroup2, debugfs, tracefs */
	static const long others[] = { 0x9fa0, 0x62656572, 0x63677270, 0x64626720, 0x74726163 };
	char name[64], line[128];
	unsigned long flags = 0;
	struct statfs fs;
	struct stat st;
	FILE *info;

	snprintf(name, sizeof(name), "/proc/%d/fd/%d", thread, fd);
	if (stat(name, &st) || !S_ISREG(st.st_mode) || statfs(name, &fs))
		return false;
	for (size_t i = 0; i < COUNT(others); i++)
		if (fs.f_type == others[i])
			return false;
	snprintf(name, sizeof(name), "/proc/%d/fdinfo/%d", thread, fd);
	info = fopen(name, "r");
	if (!info)
		return false;
	while (fgets(line, sizeof(line), info)) {
		sscanf(line, "pos: %lu", position);
		sscanf(line, "flags: %lo", &flags);
	}
	fclose(info);
	return !(flags & O_DIRECT);
}

static void leave(const struct entered *entered, long done)
{
	const struct call *call = entered->call;
	const unsigned long *argument = entered->arguments;
	unsigned long offset = 0, left = done;
	struct iovec segments[SEGMENTS], local, remote;
	size_t n;

	if (done <= 0 || !is_file(entered->thread, argument[0], &offset))
		return;
	offset = call->positioned ? argument[3] : offset - done;
	if (!call->segments) {
		count(call, argument[1], offset, done);
		return;
	}
	n = argument[2] < SEGMENTS ? argument[2] : SEGMENTS;
	local = (struct iovec){ segments, n * sizeof(*segments) };
	remote = (struct iovec){ (void *)argument[1], n * sizeof(*segments) };
	if (process_vm_readv(entered->thread, &local, 1, &remote, 1, 0) < 0)
		return;
	for (size_t i = 0; i < n && left; i++) {
		size_t part = segments[i].iov_len < left ? segments[i].iov_len : left;

		count(call, (unsigned long)segments[i].iov_base, offset, part);
		offset += part;
		left -= part;
	}
}

static void at_system_call(pid_t thread)
{
	struct entered *entered = &threads[thread % THREADS];
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		*entered = (struct entered){ .thread = thread };
		for (size_t i = 0; i < COUNT(calls); i++)
			if ((long)info.entry.nr == calls[i].number)
				entered->call = &calls[i];
		for (size_t i = 0; i < COUNT(entered->arguments); i++)
			entered->arguments[i] = info.entry.args[i];
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && entered->thread == thread && entered->call) {
		leave(entered, info.exit.rval);
		entered->call = NULL;
	}
}

int main(int argc, char **argv)
{
	int status, code = 0;
	pid_t child, thread;
	FILE *out;

	if (argc < 3)
		errx(2, "usage: distances FILE PROGRAM [ARGUMENT...]");
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	if (waitpid(child, &status, 0) < 0 || ptrace(PTRACE_SETOPTIONS, child, NULL, OPTIONS))
		err(1, "ptrace");
	ptrace(PTRACE_SYSCALL, child, NULL, NULL);
	while ((thread = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		long signal = 0;

		if (thread <= 0)
			continue;
		if (!WIFSTOPPED(status)) {
			if (thread == child)
				code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		if (WSTOPSIG(status) == SYSCALL_STOP)
			at_system_call(thread);
		else if (!(status >> 16) && WSTOPSIG(status) != SIGSTOP)
			signal = WSTOPSIG(status);	/* the program's own */
		ptrace(PTRACE_SYSCALL, thread, NULL, signal);
	}
	out = fopen(argv[1], "w");
	if (!out || fprintf(out, "%lu %lu %lu %lu %lu\n", copies, bytes, at_1_to_15, at_16, at_17_to_31) < 0 || fclose(out))
		err(1, "%s", argv[1]);
	return code;
}
