// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of kernel threads that wake each other, for the scheduler in User Mode
 * Linux: native.py links this file into kernel/sched/.  A late initcall prints
 * and powers off, for KIND wake (wake_up_process()) and pipe (a byte each), with
 *
 *   ring=0	ring: lines KIND LINE ...
 *		lines of the own task_struct that a pass touches
 *   ring=TASKS	ring: cycles KIND N C
 *		cycles of a pass, of the fastest of PARTS; N is 2, 4 ... TASKS
 *
 * on the command line.  A pass is one context switch.
 *
 * A line counts by flush and reload: the thread flushes it before it wakes the
 * next one, and loads it when it runs again.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/pipe_fs_i.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <uapi/linux/sched/types.h>

#define LINE		64
#define MOST		256	/* threads */
#define PARTS		101	/* the host interrupts some of them */
#define PASSES		1000	/* of a part, at least */
#define SCANNED		8	/* threads of a ring whose lines are counted */
#define SCANS		2000	/* passes for each line */

enum kind { WAKE, PIPE };
static const char * const kinds[] = { "wake", "pipe" };

struct thread {
	struct task_struct *task;
	struct thread *next;
	struct file *pipe[2];
	int token;
} ____cacheline_aligned;

static struct thread threads[MOST];
static enum kind kind;
static int tasks, most = -1, line = -1;	/* most: 0 for lines, -1 for none */
static unsigned int part, pass, passes, hits, scans;
static u64 begun, best;
static u64 limit;	/* cycles of a load: less is a hit */
static bool stop;
static DECLARE_COMPLETION(ended);

static __always_inline u64 cycles(void)
{
	u32 low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (u64)high << 32 | low;
}

static u64 load(const char *p)
{
	u64 start = cycles();

	(void)READ_ONCE(*p);
	return cycles() - start;
}

static void flush(const char *p)
{
	asm volatile("clflush (%0); mfence; lfence" : : "r"(p) : "memory");
}

/* Half way from a hit to a miss */
static void __init calibrate(void)
{
	u64 hit = U64_MAX, miss = U64_MAX;
	char *p = (char *)&threads[0];
	int i;

	for (i = 0; i < 1000; i++) {
		flush(p);
		miss = min(miss, load(p));
		hit = min(hit, load(p));
	}
	limit = (hit + miss) / 2;
	pr_info("ring: load %llu to %llu cycles\n", hit, miss);
}

static void ring_wait(struct thread *me)
{
	loff_t at = 0;
	char byte;

	if (kind == PIPE) {
		WARN_ON(kernel_read(me->pipe[0], &byte, 1, &at) != 1);
		return;
	}
	for (;;) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		if (READ_ONCE(me->token))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	me->token = 0;
}

static void ring_wake(struct thread *other)
{
	loff_t at = 0;

	if (kind == PIPE) {
		WARN_ON(kernel_write(other->pipe[1], "", 1, &at) != 1);
		return;
	}
	WRITE_ONCE(other->token, 1);
	wake_up_process(other->task);
}

/* The first thread counts: a part has as many laps as make PASSES passes */
static void count(void)
{
	u64 now = cycles();

	pass += tasks;
	if (pass < passes)
		return;
	/* The first part warms up */
	if (part && now - begun < best * pass)
		best = DIV_ROUND_CLOSEST_ULL(now - begun, pass);
	pass = 0;
	stop = ++part > (line < 0 ? PARTS : 1);
	begun = cycles();
}

static void scan(struct thread *me)
{
	char *p = (char *)me->task + LINE * line;

	hits += load(p) < limit;
	scans++;
	flush(p);
}

static int run(void *data)
{
	struct thread *me = data;

	for (;;) {
		ring_wait(me);
		if (me == threads)
			count();
		if (READ_ONCE(stop))
			break;
		if (line >= 0)
			scan(me);
		ring_wake(me->next);
	}
	/* The others end one after the other */
	if (me->next != threads)
		ring_wake(me->next);
	else
		complete(&ended);
	return 0;
}

static int __init start(struct thread *thread, int number)
{
	struct sched_param none = {};

	*thread = (struct thread){};
	thread->task = kthread_create(run, thread, "ring/%d", number);
	if (IS_ERR(thread->task))
		return PTR_ERR(thread->task);
	get_task_struct(thread->task);
	/* What is woken does not preempt */
	sched_setscheduler_nocheck(thread->task, SCHED_BATCH, &none);
	return kind == PIPE ? create_pipe_files(thread->pipe, 0) : 0;
}

/* ring() - Run one ring; line >= 0: for its lines, else for its time */
static int __init ring(void)
{
	int i, err;

	part = 0;
	pass = 0;
	hits = 0;
	scans = 0;
	stop = false;
	best = U64_MAX / MOST / PASSES / 2;
	passes = line < 0 ? PASSES : SCANS;
	reinit_completion(&ended);
	for (i = 0; i < tasks; i++) {
		err = start(&threads[i], i);
		if (err)
			return err;
	}
	/* Neighbours in memory do not follow each other: 5 shares no factor with a power of 2 */
	for (i = 0; i < tasks; i++)
		threads[5 * i % tasks].next = &threads[5 * (i + 1) % tasks];
	for (i = 0; i < tasks; i++)
		wake_up_process(threads[i].task);
	msleep(20);	/* all wait */
	ring_wake(threads);
	wait_for_completion(&ended);
	msleep(20);	/* all have ended */
	for (i = 0; i < tasks; i++) {
		put_task_struct(threads[i].task);
		if (kind == PIPE) {
			fput(threads[i].pipe[0]);
			fput(threads[i].pipe[1]);
		}
	}
	return 0;
}

static int __init lines(void)
{
	int err;

	tasks = SCANNED;
	pr_info("ring: lines %s", kinds[kind]);
	for (line = 0; line < DIV_ROUND_UP(sizeof(struct task_struct), LINE); line++) {
		err = ring();
		if (err)
			return err;
		if (hits > scans / 10 * 9)
			pr_cont(" %d", line);
	}
	pr_cont("\n");
	line = -1;
	return 0;
}

static int __init times(void)
{
	int err;

	for (tasks = 2; tasks <= min(most, MOST); tasks *= 2) {
		err = ring();
		if (err)
			return err;
		pr_info("ring: cycles %s %d %llu\n", kinds[kind], tasks, best);
	}
	return 0;
}

static int __init ring_init(void)
{
	int err = 0;

	if (most < 0)
		return 0;
	calibrate();
	for (kind = WAKE; kind <= PIPE && !err; kind++)
		err = most ? times() : lines();
	pr_info("ring: ended %d\n", err);
	kernel_power_off();
	return 0;
}
late_initcall(ring_init);

static int __init ring_setup(char *text)
{
	return !kstrtoint(text, 10, &most);
}
__setup("ring=", ring_setup);
