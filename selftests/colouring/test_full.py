# SPDX-License-Identifier: GPL-2.0
"""Stacks are erased below a top that has a colour: a boot of the kernel kasan."""

import re

import pytest

from selftests.colouring.lkdtm import provoke
from tools import environment

pytestmark = pytest.mark.full

TASKS = 12
ERASED = "lkdtm: OK: the rest of the thread stack is properly erased"


def test_kstack_erase() -> None:
    """KSTACK_ERASE begins below the lines that a task's colour leaves free."""
    out = environment.kernel("kasan")
    # echo is one of the shell's own commands: a subshell makes it a task of its own
    log = provoke("kstack_erase", f"for i in $(seq {TASKS}); do (echo KSTACK_ERASE >$DIRECT); done",
                  "kstack_colours=auto", out / "arch/x86/boot/bzImage")
    assert log.count(ERASED) == TASKS and "lkdtm: FAIL" not in log, log[-3000:]
    found = re.search(r"stacks begin at (\d+) places, (\d+) bytes apart", log)
    places, step = map(int, found.groups())
    free = [int(number) for number in re.findall(r"high offset: (\d+) bytes", log)]
    assert len(set(free)) >= TASKS // 2, free
    assert all((number - min(free)) % step == 0 for number in free), free
    assert max(free) - min(free) <= (places - 1) * step, free
