# SPDX-License-Identifier: GPL-2.0
"""README's row of small copies: how much of a system call its copies are."""
from __future__ import annotations

from tools.figures.gains import arrow, evidence, timed
from tools.figures.tables import Figures, Row


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    both, none = (timed("usercopy/bench", "Zen 4", name, measure="calls", bytes=8)
                  for name in ("sigprocmask_both", "sigprocmask"))
    return [Row("smallcopies (always)", "rt_sigprocmask() that sets and gets",
                f"{arrow(both, none)} cycles at most", evidence("usercopy/bench", "Zen 4"),
                "text grows, drm_ioctl() by 429 bytes; random sizes mispredict branches")]


FIGURES = Figures(gains=gains)
