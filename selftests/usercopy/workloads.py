# SPDX-License-Identifier: GPL-2.0
"""The model's workload of small copies."""
from tools.model.workload import Workload

WORKLOADS = {
    "ioctl": Workload("ioctl", "selftests/usercopy/guest/ioctls.c", {"calls": "100"},
                      instructions=True),
}
