# SPDX-License-Identifier: GPL-2.0
"""Hot lines: the short form of the table of what a switch touches, README's row of gains, and the
picture of misses of a context switch by the number of tasks, before and after."""
import statistics
from collections.abc import Callable
from typing import Any

from selftests.hotlines import bench, model
from selftests.hotlines.model import (
    BOOTS, KINDS, TASKS, before, leader, moved, rings, touched)
from selftests.hotlines.native.native import STATES
from tools.figures import store
from tools.figures.cells import one_row
from tools.figures.gains import arrow, evidence
from tools.figures.pictures import THEMES, about, start
from tools.figures.store import Table
from tools.figures.tables import Figures, Modelled, Picture, Row, Timed
from tools.model import tables
from tools.model.published import literal, spread

SHORT = (4, 8, 64, 256)     # numbers of tasks, in the group's page
# Rings of the timed table in the page: kind and number of threads
RINGS = tuple((kind, tasks) for kind in ("wake", "pipe") for tasks in (2, 256))
NAMES = {"pipe": "processes, pipes", "futex": "processes, a futex", "threads": "threads, a futex"}


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    lines = [len(touched(made, "pipe")) for made in (before(), store.read("hotlines", "model"))]
    slower = any(map(bench.complaints, store.read("hotlines", "bench")["blocks"]))
    return [Row("always on", "lines, context switch", arrow(*lines),
                f"time: {'more' if slower else 'no more'}",
                evidence("hotlines/model", half=before()))]


def short(table: Table) -> str:
    """Return lines, first-level misses and lines that move between CPUs by kind of ring, before and
    after, stack offset fixed."""
    both = (before()["cells"], table["cells"])

    def row(head: str, value: Callable[[Table, str], float], digits: int = 1) -> list[str]:
        return [head, *("/".join(f"{value(cells, kind):.{digits}f}" for cells in both)
                        for kind in KINDS)]

    def misses(tasks: int) -> Callable[[Table, str], float]:
        return lambda cells, kind: statistics.median(
            rings(cells, "fixed", f"{kind}_{tasks}", "l1d"))
    rows = [["per context switch, before/after", *KINDS],
            row("lines of task_struct and FPU state",
                lambda cells, kind: float(cells[f"{kind}-fixed/ring"]["lines"]["task_struct"])),
            *(row(f"L1D misses, {tasks} tasks", misses(tasks)) for tasks in SHORT),
            row("task_struct lines that move, 16 tasks on 2 CPUs", lambda cells, kind:
                statistics.median(moved(cells, f"{kind}_16", "task_struct")), 2)]
    busy = " / ".join(spread(leader(cells)) for cells in both)
    return literal(f"{tables.columns(rows)}\n"
                   f"task_struct lines that move per round of the busy leader: {busy}")


def hotlines(theme: str) -> Any:
    """Draw the first-level misses of a switch over the number of tasks, a panel for each kind of
    ring."""
    table = store.read("hotlines", "model")
    figure, panels = start(len(KINDS), "L1D misses per context switch")
    for axes, kind in zip(panels, KINDS):
        for cells, name, colour in ((before()["cells"], "mainline's order", THEMES[theme][0]),
                                    (table["cells"], "hotlines", THEMES[theme][1])):
            axes.plot(TASKS, [statistics.median(rings(cells, "fixed", f"{kind}_{tasks}", "l1d"))
                              for tasks in TASKS], color=colour, marker="o", ms=3, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xticks(TASKS[::2], [str(tasks) for tasks in TASKS[::2]])
        axes.set_xlabel("tasks that take turns")
        axes.set_title(NAMES[kind], fontsize=9)
    panels[0].set_ylim(0)
    panels[0].legend(fontsize=8)
    return figure


def short_bench(table: Table) -> str:
    """Return the cycles of a switch in some rings, without and with the group, by CPU model."""
    rows = [["cycles of a context switch, without/with",
             *(f"{kind}, {tasks}" for kind, tasks in RINGS)]]
    for block in table["blocks"]:
        found = [one_row(block["cells"], measure=kind, tasks=tasks) for kind, tasks in RINGS]
        rows.append([about(block), *("/".join(f"{row[state].median:.0f}" for state in STATES)
                                     for row in found)])
    return literal(tables.columns(rows))


FIGURES = Figures(
    (Modelled("hotlines", model.PUBLISHED, model.page, short),
     Timed("hotlines", "bench", bench.run, ("selftests/hotlines/native", "configs/uml.config"),
           bench.complaints, short_bench)), gains,
    {"hotlines": Picture(f"Modelled, L1D of 48 KiB, median of {len(BOOTS)} boots: misses of a "
                         "context switch", hotlines)})
