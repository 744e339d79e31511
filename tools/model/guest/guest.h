/* SPDX-License-Identifier: GPL-2.0 */
/* What the workloads of the guest share. See init.c. */
#ifndef CACHEMODEL_GUEST_H
#define CACHEMODEL_GUEST_H

#include "../tags.h"

#define PAGE	4096
#define LINE	64

/* Print a line for the runner, "cachemodel: " and this, and wait till it is out */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print an error and end the machine; fail_errno() with errno's text */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void fail_errno(const char *what) __attribute__((noreturn));

/* Return the result of a system call, fail with errno's text if it is negative */
long must(long result, const char *what);

/* End the machine: the workload is done */
void done(void) __attribute__((noreturn));

/* A whole number of the kernel command line, fails if it is not in the bounds */
long number(const char *name, long least, long most, long unset);

/* A word of the kernel command line */
const char *word(const char *name, const char *unset);

/* Pages of memory, each byte as fill; fails if there are none */
char *memory(unsigned long bytes, int fill);

void pin(int cpu);

/* From now on no child may end: that ends the machine with an error */
void keep_children(void);

/* Let what was begun before (boot, the console) come to its end: half a second */
void settle(void);

/* Word perturb=: so many processes with a pipe each come, and half of them go */
void perturb_memory(void);

void write_file(const char *path, const char *text);

/* Make the directory where and mount a file system there */
void mount_at(const char *source, const char *type, const char *where, const char *options);

/* Load /NAME.ko; module kinds tells the kinds of all task_structs and kernel stacks */
void load(const char *name);

/* Tell that the cached pages of a file are page cache */
void tell_file(const char *path);

/* Tell that memory is the workload's own buffer */
void tell_buffer(const void *start, unsigned long size);

/* The workloads: each ends with done() */
void bystander(void);
void calibrate(void);
void ioctls(void);
void leader(void);
void preads(void);
void reads(void);
void ring(void);
void rings(void);
void syscalls(void);
void writers(void);
void writes(void);

#endif
