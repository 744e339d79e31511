# SPDX-License-Identifier: GPL-2.0
"""Hot lines: the short form of the table of what a switch touches, README's row of gains, and the
picture of misses of a context switch by the number of tasks, before and after."""
from __future__ import annotations

import statistics
from typing import Any

from selftests.hotlines import model
from selftests.hotlines.model import (
    BOOTS, KINDS, TASKS, before, leader_table, line_table, miss_table, moved_table, rings, touched)
from tools.figures import store
from tools.figures.gains import arrow, evidence
from tools.figures.pictures import THEMES, start
from tools.figures.store import Table
from tools.figures.tables import Figures, Modelled, Picture, Row
from tools.model.published import literal

NAMES = {"pipe": "processes, pipes", "futex": "processes, a futex", "threads": "threads, a futex"}


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    table = store.read("hotlines", "model")
    misses = (statistics.median(rings(cells, "fixed", "pipe_64", "l1d"))
              for cells in (before()["cells"], table["cells"]))
    return [Row("hotlines (always)", "a switch in a ring of 64 tasks",
                f"{len(touched(before(), 'pipe'))} → {len(touched(table, 'pipe'))} lines, "
                f"{arrow(*misses, digits=1)} L1D misses", evidence("hotlines/model", half=before()),
                "no ring of 4 to 256 tasks has more misses in each boot; in User Mode Linux no "
                "difference in time")]


def short(table: Table) -> str:
    """Return the lines of each kind of object, the misses of first level, and on several CPUs the
    lines that move."""
    return "\n".join(map(literal, (line_table(table), miss_table(table, "l1d"), moved_table(table),
                                   leader_table(table))))


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


FIGURES = Figures(
    (Modelled("hotlines", model.PUBLISHED, model.page, short),), gains,
    {"hotlines": Picture(f"Modelled, L1D of 48 KiB, median of {len(BOOTS)} boots: misses of a "
                         "context switch", hotlines)})
