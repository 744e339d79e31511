// SPDX-License-Identifier: GPL-2.0
/*
 * The only program of the cache model's guest: its first process. Its environment
 * has workload= and the workload's settings from the kernel command line. It prints
 * lines for the runner and powers off.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "guest.h"

extern const struct workload __start_workloads[], __stop_workloads[];

static void print_line(const char *prefix, const char *format, va_list args)
{
	printf("cachemodel: %s", prefix);
	vprintf(format, args);
	printf("\n");
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
}

void report(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("", format, args);
	va_end(args);
}

static void __attribute__((noreturn)) power_off(void)
{
	reboot(RB_AUTOBOOT);	/* QEMU runs with -no-reboot: it ends */
	for (;;)
		pause();
}

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("error: ", format, args);
	va_end(args);
	power_off();
}

void fail_errno(const char *what)
{
	fail("%s: %s", what, strerror(errno));
}

long must(long result, const char *what)
{
	if (result < 0)
		fail_errno(what);
	return result;
}

void done(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[512];

	if (!file)
		fail_errno("/proc/kallsyms");
	/* The runner needs the addresses of modules; the rest is in System.map */
	while (fgets(line, sizeof(line), file)) {
		if (strchr(line, '['))
			printf("cachemodel: symbol %s", line);
	}
	report("done");
	power_off();
}

const char *parameter(const char *name, const char *unset)
{
	const char *value = getenv(name);

	return value && *value ? value : unset;
}

long number(const char *name, long least, long most, long unset)
{
	const char *text = parameter(name, NULL);
	char *rest;
	long value;

	if (!text)
		return unset;
	value = strtol(text, &rest, 10);
	if (*rest || value < least || value > most)
		fail("%s=%s: a whole number of %ld..%ld is wanted", name, text, least, most);
	return value;
}

char *memory(unsigned long bytes, int fill)
{
	char *start = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);

	if (!start)
		fail("no memory for %lu bytes", bytes);
	return memset(start, fill, bytes);
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static void child_ended(int number)
{
	(void)number;
	fail("a process of the workload ended: out of memory?");
}

void keep_children(void)
{
	signal(SIGCHLD, child_ended);
}

void settle(void)
{
	usleep(500000);
}

void perturb_memory(void)
{
	long count = number("perturb", 0, 400, 0);

	for (long i = 0; i < count; i++) {
		pid_t child;
		int ends[2];

		must(pipe(ends), "pipe for perturb=");
		child = must(fork(), "fork for perturb=");
		while (!child)
			pause();
		/* The child keeps the pipe */
		close(ends[0]);
		close(ends[1]);
		if (i % 2) {
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
		}
	}
}

void write_file(const char *path, const char *text)
{
	int fd = must(open(path, O_WRONLY), path);

	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail_errno(path);
	close(fd);
}

void mount_at(const char *source, const char *type, const char *where, const char *options)
{
	mkdir(where, 0755);
	must(mount(source, where, type, 0, options), where);
}

void load(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/%s.ko", name);
	fd = must(open(path, O_RDONLY), path);
	must(syscall(SYS_finit_module, fd, "", 0), path);
	close(fd);
}

/* On one CPU: a tag and the load behind it belong together */
void tag_file(const char *path)
{
	int fd = must(open(path, O_RDONLY), path);
	struct stat stat;
	char *start;

	must(fstat(fd, &stat), path);
	start = mmap(NULL, stat.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (start == MAP_FAILED)
		fail_errno(path);
	for (long offset = 0; offset < stat.st_size; offset += PAGE)
		cachemodel_kind(CACHEMODEL_PAGE_CACHE, start + offset);
	munmap(start, stat.st_size);
	close(fd);
}

void tag_buffer(const void *start, unsigned long size)
{
	for (unsigned long offset = 0; offset < size; offset += PAGE)
		cachemodel_kind(CACHEMODEL_USER_BUFFER, (const char *)start + offset);
}

int main(void)
{
	const char *name;

	/* Executed by a workload, which counts that */
	if (getpid() != 1)
		return 0;
	name = parameter("workload", "");
	setvbuf(stdout, NULL, _IOLBF, 0);
	mount_at("proc", "proc", "/proc", NULL);
	mount_at("sysfs", "sysfs", "/sys", NULL);
	mount_at("devtmpfs", "devtmpfs", "/dev", NULL);
	for (const struct workload *each = __start_workloads; each < __stop_workloads; each++) {
		if (!strcmp(name, each->name))
			each->run();
	}
	fail("workload=%s is not known to the guest", name);
}
