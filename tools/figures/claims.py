# SPDX-License-Identifier: GPL-2.0
"""Whether what the series does by itself is slower than mainline: the rule of all timed tables."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# Of the cells, at most this part may be noisy
NOISY = 0.02


def noisy(mainline: float, again: float, allowed: float) -> bool:
    """Return whether two times of the same copy differ by more than is allowed, in cycles."""
    return abs(mainline - again) > allowed


def compare(cells: Iterable[tuple[str, float, float, float]], cycles: float, part: float,
            ) -> dict[str, Any]:
    """Return how the series compares, from cells: name, medians of mainline, again, of the series.

    The series is slower where it takes longer than both by more than `cycles` and this part of
    mainline's time. A cell is noisy where the two equal ones differ by more than that.
    """
    found: dict[str, Any] = {"cells": 0, "slower": {}, "noisy": []}
    for name, mainline, again, series in cells:
        allowed = max(cycles, part * mainline)
        found["cells"] += 1
        if series > max(mainline, again) + allowed:
            found["slower"][name] = [mainline, again, series]
        elif noisy(mainline, again, allowed):
            found["noisy"].append(name)
    return found


def lines_of(compared: dict[str, Any]) -> list[str]:
    """Return a line for each cell in which the series is slower, and one if too many are noisy."""
    lines = [f"{name}: series {series:.1f}, mainline {max(mainline, again):.1f} cycles"
             for name, (mainline, again, series) in compared["slower"].items()]
    if len(compared["noisy"]) > NOISY * compared["cells"]:
        lines.append(f"not idle: {len(compared['noisy'])} of {compared['cells']} cells are noisy")
    return lines
