# SPDX-License-Identifier: GPL-2.0
"""README's row of colouring, which has no published figure of its gain today."""
from __future__ import annotations

from tools.results.figures import Row


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    return [Row("KSTACK_COLOUR, TASK_STRUCT_COLOUR", "64 to 128 tasks that take turns",
                "not counted with these patches", "none",
                "up to 1/8 of each kernel stack is given up; older patches had fewer L2 misses with 64 and 128 "
                "tasks, more misses with 16 threads and with 512 tasks")]
