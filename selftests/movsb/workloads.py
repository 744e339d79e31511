# SPDX-License-Identifier: GPL-2.0
"""The model's workload of copies by the distance of their addresses."""
from tools.model.workload import Workload

WORKLOADS = {
    "pread": Workload("system call", "selftests/movsb/guest/copies.c", {"calls": "20"},
                      instructions=True),
}
