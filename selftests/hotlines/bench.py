# SPDX-License-Identifier: GPL-2.0
"""Times a context switch with the group and without, in the scheduler of User Mode Linux.

`make bench GROUP=hotlines` makes Documentation/results/hotlines/bench.csv from the kernels that
`make test-full JOB=native_lines` has built: rings of kernel threads that wake each other (wake) or
write a byte to a pipe (pipe). A boot gives the fastest part of its rounds, a layout the fastest of
its boots. Median and quartiles are those of the layouts, as where the linker puts the code counts
for more than the order of fields.
"""
from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from selftests.hotlines.native import native
from tools.figures.cells import Block, Cell, by_row
from tools.figures.measure import NotBuilt, summary

TASKS = 256
# A layout has one boot for so many rounds
ROUNDS_A_BOOT = 4


def run(tree: Path, rounds: int) -> Block:
    """Measure; return what is the block's own. Raises NotBuilt."""
    del tree
    if not native.is_built():
        raise NotBuilt("no kernels of these patches: make test-full JOB=native_lines builds them")
    found: dict[tuple[str, str, int], dict[int, int]] = defaultdict(dict)
    for number in range(max(1, rounds // ROUNDS_A_BOOT)):
        for layout in range(native.LAYOUTS):
            for state in native.STATES:
                for (kind, tasks), cycles in native.cycles(state, layout, TASKS).items():
                    best = found[state, kind, tasks]
                    best[layout] = min(cycles, best.get(layout, cycles))
        print(f"rings: boot {number + 1} of each layout", flush=True)
    cells = [Cell(measure=kind, tasks=tasks, copy=state, **summary(list(map(float, best.values()))))
             for (state, kind, tasks), best in found.items()]
    return {"cells": cells, "layouts": native.LAYOUTS}


def complaints(block: Block) -> list[str]:
    """Return the rings that are slower with the group, beyond the quartiles of the layouts."""
    return [f"{rows['with'].name}: {rows['without'].median:.0f} -> {rows['with'].median:.0f} cycles"
            for rows in by_row(block["cells"]) if rows["with"].low > rows["without"].high]
