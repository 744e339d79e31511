// SPDX-License-Identifier: GPL-2.0
/*
 * The only program of the cache model's guest: its first process. The kernel
 * hands it the words workload=, and the workload's own, of the command line as
 * environment. Prints lines for the runner and powers off.
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

static const struct {
	const char *name;
	void (*run)(void);
} workloads[] = {
	{ "bystander", bystander },
	{ "calibrate", calibrate },
	{ "ioctl", ioctls },
	{ "reads", reads },
	{ "ring", ring },
	{ "rings", rings },
	{ "syscalls", syscalls },
	{ "writers", writers },
};

void tell(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("cachemodel: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
}

static void __attribute__((noreturn)) power_off(void)
{
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);	/* QEMU runs with -no-reboot: it ends */
	for (;;)
		pause();
}

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("cachemodel: error: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	power_off();
}

void fail_errno(const char *what)
{
	fail("%s: %s", what, strerror(errno));
}

/* The runner needs the addresses of modules; the rest is in System.map */
static void tell_modules(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[512];

	if (!file)
		fail_errno("/proc/kallsyms");
	while (fgets(line, sizeof(line), file)) {
		if (strchr(line, '['))
			printf("cachemodel: symbol %s", line);
	}
	fclose(file);
}

void done(void)
{
	tell_modules();
	tell("done");
	power_off();
}

const char *word(const char *name, const char *unset)
{
	const char *value = getenv(name);

	return value && *value ? value : unset;
}

long number(const char *name, long least, long most, long unset)
{
	const char *text = word(name, NULL);
	char *rest;
	long value;

	if (!text)
		return unset;
	value = strtol(text, &rest, 10);
	if (*rest || value < least || value > most)
		fail("%s=%s: a whole number of %ld..%ld is wanted", name, text, least, most);
	return value;
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail_errno("sched_setaffinity");
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

		if (pipe(ends))
			fail_errno("pipe for perturb=");
		child = fork();
		if (child < 0)
			fail_errno("fork for perturb=");
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
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail_errno(path);
	close(fd);
}

void load(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/%s.ko", name);
	fd = open(path, O_RDONLY);
	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		fail_errno(path);
	close(fd);
}

void tell_tasks(void)
{
	load("kinds");
}

/* On one CPU: a tag and the load behind it belong together */
static void tell_pages(const char *start, unsigned long size, int file)
{
	for (unsigned long offset = 0; offset < size; offset += PAGE) {
		if (file)
			cachemodel_kind(CACHEMODEL_PAGE_CACHE, start + offset);
		else
			cachemodel_kind(CACHEMODEL_USER_BUFFER, start + offset);
	}
}

void tell_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat stat;
	char *start;

	if (fd < 0 || fstat(fd, &stat))
		fail_errno(path);
	start = mmap(NULL, stat.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (start == MAP_FAILED)
		fail_errno(path);
	tell_pages(start, stat.st_size, 1);
	munmap(start, stat.st_size);
	close(fd);
}

void tell_buffer(const void *start, unsigned long size)
{
	tell_pages(start, size, 0);
}

static void mount_or_fail(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL))
		fail_errno(where);
}

int main(void)
{
	const char *name = word("workload", "");

	setvbuf(stdout, NULL, _IOLBF, 0);
	mount_or_fail("proc", "/proc");
	mount_or_fail("sysfs", "/sys");
	mount_or_fail("devtmpfs", "/dev");
	for (unsigned int i = 0; i < sizeof(workloads) / sizeof(*workloads); i++) {
		if (!strcmp(name, workloads[i].name))
			workloads[i].run();
	}
	fail("workload=%s is not known to the guest", name);
}
