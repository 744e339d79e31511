# SPDX-License-Identifier: GPL-2.0
"""On a real CPU a context switch touches fewer lines of a task_struct with the group: the scheduler
in User Mode Linux, by flush and reload. What else the CPU does may add or take a line or two."""
import statistics

import pytest

from selftests.hotlines.native import native

BOOTS = 5
# Lines of the ring that wakes by wake_up_process(), median of BOOTS boots
MOST, FEWER = 16, 5


@pytest.mark.full
def test_native_lines() -> None:
    """At most MOST lines with the group, and FEWER fewer than without it; no more by pipes."""
    native.build()
    found = {state: [native.lines(state) for _ in range(BOOTS)] for state in native.STATES}
    counts = {(state, kind): statistics.median(len(boot[kind]) for boot in boots)
              for state, boots in found.items() for kind in ("wake", "pipe")}
    assert counts["with", "wake"] <= MOST, found
    assert counts["with", "wake"] <= counts["without", "wake"] - FEWER, found
    assert counts["with", "pipe"] < counts["without", "pipe"], found
