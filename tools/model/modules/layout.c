// SPDX-License-Identifier: GPL-2.0
/* Where the fields of a task_struct are: compiled with debug information, for pahole, never loaded. */
#include <linux/sched.h>

struct task_struct *layout_task_struct;
