# SPDX-License-Identifier: GPL-2.0
"""A stack that begins below its top still ends at its guard page: LKDTM runs into it."""

from pathlib import Path

from selftests.colouring.lkdtm import provoke
from tools import environment

COLOURS = "kstack_colours=auto"
CAUGHT = "BUG: TASK stack guard page was hit at"
# One task after the other has another colour: of four, three at least do not begin at the top
TASKS = 4


def plain_kernel() -> Path:
    """Return the image that is tested."""
    return environment.kernel() / "arch/x86/boot/bzImage"


def test_guard_page() -> None:
    """Reads just below the stacks of some tasks meet the guard page, each."""
    command = f"for i in $(seq {TASKS}); do (echo STACK_GUARD_PAGE_LEADING >$DIRECT); done"
    log = provoke("guard", command, f"{COLOURS} sysctl.kernel.panic_on_oops=0", plain_kernel())
    assert "task_colour: stacks begin at" in log
    assert log.count(CAUGHT) == TASKS, log[-3000:]


def test_guard_page_after_recursion() -> None:
    """A recursion without end meets it, too; the kernel does not outlive that."""
    log = provoke("exhaust", "echo EXHAUST_STACK >$DIRECT", COLOURS, plain_kernel())
    assert "task_colour: stacks begin at" in log
    assert CAUGHT in log, log[-3000:]
