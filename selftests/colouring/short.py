# SPDX-License-Identifier: GPL-2.0
"""The short form of the table of what a switch touches, for the group's page, and README's row of
colouring, which has no published figure of its gain today."""
from __future__ import annotations

from selftests.colouring.model import line_table
from selftests.model.published import literal
from selftests.results.figures import Row
from selftests.results.store import Table


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    return [Row("KSTACK_COLOUR, TASK_STRUCT_COLOUR", "64 to 128 tasks that take turns",
                "not counted with these patches", "none",
                "up to 1/8 of each kernel stack is given up; older patches had fewer L2 misses with 64 and 128 "
                "tasks, more misses with 16 threads and with 512 tasks")]


def model(table: Table) -> str:
    """Return the lines of each kind of object, and misses."""
    return literal(line_table(table))
