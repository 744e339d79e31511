# SPDX-License-Identifier: GPL-2.0
"""Immediate values: the short forms of the tables, README's row of gains, and the picture of what
4096 reads add to a system call, as loads and as immediates."""
from typing import Any

from selftests.immediate import bench, model
from selftests.immediate.bench import CACHES_OF, added
from tools.figures import store
from tools.figures.cells import by_row
from tools.figures.gains import arrow, block_of, evidence
from tools.figures.machine import cpu_name
from tools.figures.pictures import THEMES, TIMED, about, start
from tools.figures.store import Table
from tools.figures.tables import Figures, Modelled, Picture, Row, Timed
from tools.model import tables
from tools.model.published import literal

TABLE, CPU = "immediate/bench", "Zen 5"
# Where hot immediates do not save what the original's did: immediate.rst names them
SLOWER = ("Cascade Lake", "Emerald Rapids")
FORMS = ("loads", "immediates")
WIDTH = 0.38


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    def pair(caches: str, size: int) -> str:
        return arrow(*(added(block_of(TABLE, CPU), caches, 4096, size, form) for form in FORMS))
    return [Row("IMMEDIATE_VALUES", "cycles, 4096 reads", pair("hot", 4), pair("llc", 8),
                evidence(TABLE, CPU))]


def short(table: Table) -> str:
    """Return what 4096 reads add to a call as loads, and how many times as many as immediates."""
    blocks = table["blocks"]
    lines = [["bytes", "caches", *(cpu_name(block["machine"]) for block in blocks)]]
    for row in by_row(blocks[-1]["cells"], reads=4096, copy="none"):
        size, caches = row["none"].bytes, row["none"].measure
        pairs = [[added(block, caches, 4096, size, form) for form in FORMS] for block in blocks]
        lines.append([str(size), CACHES_OF[caches],
                      *(f"{loads:.0f}: {other / loads:.2f}" for loads, other in pairs)])
    return literal(tables.columns(lines))


def immediate_reads(theme: str) -> Any:
    """Draw the cycles that 4096 reads of four and eight bytes add, by caches, a row of panels for
    each CPU model."""
    blocks = store.read("immediate", "bench")["blocks"]
    figure, panels = start(2 * len(blocks), "cycles added to a getppid()")
    for axes, (block, size) in zip(panels, ((block, size) for block in blocks for size in (4, 8))):
        for number, form in enumerate(FORMS):
            axes.bar([at + WIDTH * (number - 0.5) for at in range(len(CACHES_OF))],
                     [added(block, caches, 4096, size, form) for caches in CACHES_OF],
                     WIDTH, color=THEMES[theme][number], label=form)
        axes.set_xticks(range(len(CACHES_OF)), CACHES_OF.values())
        axes.set_title(f"{size} bytes, {about(block)}", fontsize=9)
    panels[0].legend(fontsize=8)
    return figure


FIGURES = Figures(
    (Timed("immediate", "bench", bench.run, ("selftests/immediate/reads.c", "tools/figures/tsc.h"),
           bench.complaints, short),
     Modelled("immediate", model.PUBLISHED, model.page)),
    gains, {"immediate-reads": Picture(f"{TIMED}: 4096 reads", immediate_reads)})
