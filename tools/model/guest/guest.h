/* SPDX-License-Identifier: GPL-2.0 */
/* What the workloads of the guest share. See init.c. */
#ifndef CACHEMODEL_GUEST_H
#define CACHEMODEL_GUEST_H

#include "tags.h"

#define PAGE	4096
#define LINE	64

/* Print a line for the runner, "cachemodel: " and this, and wait until it is out */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print an error and end the machine; fail_errno() with errno's text */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void fail_errno(const char *what) __attribute__((noreturn));

/* Return the result of a system call, fail with errno's text if it is negative */
long must(long result, const char *what);

/* End the machine: the workload is done */
void done(void) __attribute__((noreturn));

/* A whole number of the kernel command line; fails if out of bounds */
long number(const char *name, long least, long most, long unset);

/* A parameter of the kernel command line */
const char *parameter(const char *name, const char *unset);

/* Pages of memory, each byte as fill; fails if there are none */
char *memory(unsigned long bytes, int fill);

void pin(int cpu);

/* From now on no child may end: that ends the machine with an error */
void keep_children(void);

/* Let what was begun before (boot, the console) come to its end: half a second */
void settle(void);

/* Start perturb= processes with a pipe each, and end half of them */
void perturb_memory(void);

void write_file(const char *path, const char *text);

/* Make the directory where and mount a file system there */
void mount_at(const char *source, const char *type, const char *where, const char *options);

/* Load /NAME.ko; module kinds tags all task_structs and kernel stacks */
void load(const char *name);

/* Tag the cached pages of a file as page cache */
void tag_file(const char *path);

/* Tag memory as the workload's own buffer */
void tag_buffer(const void *start, unsigned long size);

/* A workload, which ends with done() */
struct workload {
	const char *name;
	void (*run)(void);
};

/* Make a function the workload that workload= names */
#define WORKLOAD(name, function)					\
static const struct workload workload_##name				\
	__attribute__((used, section("workloads"))) = { #name, function }

#endif
