# SPDX-License-Identifier: GPL-2.0
"""The short form of the table of what a switch touches, for the group's page, and README's row."""
from __future__ import annotations

import statistics

from selftests.hotlines.model import (
    before, leader_table, line_table, miss_table, moved_table, rings, touched)
from tools.model.published import literal
from tools.results import store
from tools.results.figures import Row, arrow, evidence
from tools.results.store import Table


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


def model(table: Table) -> str:
    """Return the lines of each kind of object, the misses of first level, and on several CPUs the
    lines that move."""
    return "\n".join(map(literal, (line_table(table), miss_table(table, "l1d"), moved_table(table),
                                   leader_table(table))))
