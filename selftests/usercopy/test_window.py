# SPDX-License-Identifier: GPL-2.0
"""Distances of addresses that behave alike are one row of the table."""
from __future__ import annotations

import pytest

from selftests.bench.measure import cells_of, measures_of
from selftests.usercopy.bench_window import Row, joined

pytestmark = pytest.mark.static


def row(size: int, delta: int, median: float) -> Row:
    """Return a row of one copy."""
    return {"bytes": size, "delta": delta, "a": [median, median - 1, median + 1, median + delta]}


def test_window_joined() -> None:
    """A window is a row of its own, a small difference is none, and no row has two sizes."""
    rows = [row(64, 0, 100), row(64, 1, 300), row(64, 2, 310), row(64, 3, 100), row(4096, 3, 100)]
    found = joined(rows, ("a",))
    assert list(found) == ["64/0", "64/1-2", "64/3", "4096/3"]
    assert found["64/1-2"]["a"] == {"median": 305, "low": 299, "high": 311, "worst": 312}
    measures = {"hot": found}
    assert measures_of({"cells": cells_of(measures)}) == measures
