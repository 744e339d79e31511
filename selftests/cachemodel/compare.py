# SPDX-License-Identifier: GPL-2.0
"""Counts of a result against the arithmetic of expected.py."""
from __future__ import annotations

from typing import Any

import expected

COUNTED = ("loads", "stores", "stores_nt", "load_misses", "store_misses",
           "writebacks")


def counted(result: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the counts of a label."""
    assert name in result["labels"], f"{name} was not counted"
    return {key: result["labels"][name][key] for key in COUNTED}


def compare(result: dict[str, Any], patterns: dict[str, expected.Expected]) -> None:
    """Fail unless each pattern's counts are the arithmetic's, exactly."""
    assert patterns
    wrong = {name: (counted(result, name), pattern.as_counts())
             for name, pattern in patterns.items()
             if counted(result, name) != pattern.as_counts()}
    assert not wrong, f"counted, and by arithmetic: {wrong}"
