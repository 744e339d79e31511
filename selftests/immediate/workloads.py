# SPDX-License-Identifier: GPL-2.0
"""The model's workloads of reads of variables, and of everyday system calls."""
from tools.model.workload import Workload

GUEST = "selftests/immediate/guest"

WORKLOADS = {
    "reads": Workload("system call", f"{GUEST}/reads.c", {"calls": "20", "thrash_kib": "2048"}),
    "syscalls": Workload("system call", f"{GUEST}/syscalls.c",
                         {"reps": "20", "thrash_kib": "2048"}),
}
