// SPDX-License-Identifier: GPL-2.0
/*
 * Tells the cache model which pages hold a task_struct or a kernel stack at
 * the time the module is loaded: those of all processes and threads, and of the
 * first CPU's idle task; and where the task_structs are, and what they have of
 * memory, files and signals.
 */
#include <linux/fdtable.h>
#include <linux/init_task.h>
#include <linux/mm_types.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>

#include "tags.h"

static void __init tell_task(struct task_struct *task)
{
	unsigned long start = (unsigned long)task, address;
	size_t size = task == &init_task ? sizeof(*task) : ksize(task);
	void *stack = task_stack_page(task);	/* freed after a grace period */

	for (address = start & PAGE_MASK; address < start + size; address += PAGE_SIZE)
		cachemodel_kind(CACHEMODEL_TASK_STRUCT, max(address, start));
	cachemodel_object(CACHEMODEL_TASK_STRUCT, start, size);
	cachemodel_object(CACHEMODEL_SIGNAL, task->signal, sizeof(*task->signal));
	if (task->files)
		cachemodel_object(CACHEMODEL_FILES, task->files, sizeof(*task->files));
	if (task->mm)
		cachemodel_object(CACHEMODEL_MM, task->mm, sizeof(*task->mm));
	if (!stack)
		return;
	for (address = 0; address < THREAD_SIZE; address += PAGE_SIZE)
		cachemodel_kind(CACHEMODEL_KERNEL_STACK, stack + address);
}

static int __init kinds_init(void)
{
	struct task_struct *process, *thread;
	unsigned int tasks = 0;

	tell_task(&init_task);
	rcu_read_lock();
	for_each_process_thread(process, thread) {
		tell_task(thread);
		tasks++;
	}
	rcu_read_unlock();
	pr_info("cachemodel: kinds of %u tasks told\n", tasks);
	return 0;
}

module_init(kinds_init);
MODULE_DESCRIPTION("Tell the cache model where task_structs and kernel stacks are");
MODULE_LICENSE("GPL");
