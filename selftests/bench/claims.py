# SPDX-License-Identifier: GPL-2.0
"""Whether what the kernel chooses by itself loses against mainline's way: the rule of all timed
tables."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from selftests.bench.measure import BenchError

# No loss is a difference of at most a hundredth, or a cycle of the time-stamp counter
PART, CYCLES = 0.01, 1.0
# Of the cells, at most
NOT_SHOWN = 0.02


def losses(cells: Iterable[tuple[str, float, float, float]]) -> dict[str, Any]:
    """Return how auto compares, from cells: name, medians of mainline's way, of it again, of auto.

    auto loses if it takes longer than both. A cell is not shown where these two differ by more than
    a loss would.
    """
    names, lost, not_shown = [], [], []
    for name, mainline, again, auto in cells:
        names.append(name)
        allowed = max(CYCLES, PART * mainline)
        if auto > max(mainline, again) + allowed:
            lost.append(name)
        elif abs(mainline - again) > allowed:
            not_shown.append(name)
    return {"cells": len(names), "lost": lost, "not shown": not_shown}


def check(claims: dict[str, Any], where: str) -> None:
    """Raise BenchError if auto loses in a cell, or too many are not shown."""
    if claims["lost"] or len(claims["not shown"]) > NOT_SHOWN * claims["cells"]:
        raise BenchError(f"{where}: auto loses, or the machine is not idle: {claims}")
