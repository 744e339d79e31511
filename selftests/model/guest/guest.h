/* SPDX-License-Identifier: GPL-2.0 */
/* What the workloads of the guest share. See init.c. */
#ifndef CACHEMODEL_GUEST_H
#define CACHEMODEL_GUEST_H

#include "../tags.h"

#define PAGE	4096

/* Print a line for the runner, "cachemodel: " and this, and wait till it is out */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Tell of an error and end the machine; fail_errno() with errno's text */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void fail_errno(const char *what) __attribute__((noreturn));

/* End the machine: the workload is done */
void done(void) __attribute__((noreturn));

/* A whole number of the kernel command line, fails if it is not in the bounds */
long number(const char *name, long least, long most, long unset);

/* A word of the kernel command line */
const char *word(const char *name, const char *unset);

void pin(int cpu);

/* From now on no child may end: that ends the machine with an error */
void keep_children(void);

/* Let what was begun before (boot, the console) come to its end: half a second */
void settle(void);

/* Word perturb=: so many processes with a pipe each come, and half of them go */
void perturb_memory(void);

/*
 * Word churn=: so many short-lived tasks sleep at a time, from churn_begin() to
 * churn_end(); at each churn() a random number of them end and others come
 */
void churn_begin(void);
void churn(void);
void churn_end(void);

/* Word thrash_kib=: the size of a buffer that thrash() writes, 0 for none */
void thrash_setup(void);
void thrash(void);

void write_file(const char *path, const char *text);

/* Load /NAME.ko */
void load(const char *name);

/* Tell the kinds of all task_structs and kernel stacks (module kinds) */
void tell_tasks(void);

/* Tell that the cached pages of a file are page cache */
void tell_file(const char *path);

/* Tell that memory is the workload's own buffer */
void tell_buffer(const void *start, unsigned long size);

/* The workloads: each ends with done() */
void bystander(void) __attribute__((noreturn));
void calibrate(void) __attribute__((noreturn));
void ioctls(void) __attribute__((noreturn));
void reads(void) __attribute__((noreturn));
void ring(void) __attribute__((noreturn));
void rings(void) __attribute__((noreturn));
void syscalls(void) __attribute__((noreturn));
void writers(void) __attribute__((noreturn));

#endif
