# SPDX-License-Identifier: GPL-2.0
"""README's row of colouring, whose gain was counted once (results/rings.rst, made of what
rings.json says), and its table."""
from __future__ import annotations

from selftests.colouring import bench
from tools.figures import store
from tools.figures.gains import age
from tools.figures.tables import Figures, Row, Timed


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    return [Row("KSTACK_COLOUR, TASK_STRUCT_COLOUR", "64 or 128 tasks",
                "fewer L2 misses (colouring.rst)",
                f"modelled, once{age(store.load(store.PUBLISHED / 'rings.json'))}",
                "in User Mode Linux 128 threads 6 to 9 % slower, none faster; up to 1/8 of each "
                "kernel stack is unused; more L2 misses with 256 and 512 tasks over pipes, more "
                "L1D misses with 16 over futexes")]


FIGURES = Figures((Timed("colouring", "bench", bench.run,
                         ("selftests/colouring/lock.c", "tools/figures/tsc.h")),), gains)
