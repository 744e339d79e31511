# SPDX-License-Identifier: GPL-2.0
"""README's row of small copies: how much of a system call its copies are."""
from tools.figures.gains import arrow, evidence, timed
from tools.figures.tables import Figures, Row

TABLE, CPU = "usercopy/bench", "Emerald Rapids"

def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    def pair(before: str, after: str, digits: int, **row: object) -> str:
        return arrow(*(timed(TABLE, CPU, name, **row) for name in (before, after)), digits)
    return [Row("always on", "cycles, call; copy",
                pair("sigprocmask_both", "sigprocmask", 0, measure="calls", bytes=8),
                pair("fsrm_ret", "words", 1, measure="random64"),
                evidence(TABLE, CPU))]


FIGURES = Figures(gains=gains)
