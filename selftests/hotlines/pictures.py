# SPDX-License-Identifier: GPL-2.0
"""The picture of hot lines: misses of a context switch by the number of tasks, before and after."""
from __future__ import annotations

import statistics

from matplotlib.figure import Figure

from selftests.hotlines.model import BOOTS, KINDS, TASKS, before, rings
from tools.results import store
from tools.results.pictures import THEMES, start

NAMES = {"pipe": "processes, pipes", "futex": "processes, a futex", "threads": "threads, a futex"}


def hotlines(theme: str) -> Figure:
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


DRAWN = {"hotlines": (f"Modelled, L1D of 48 KiB, median of {len(BOOTS)} boots: misses of a context "
                      "switch", hotlines)}
