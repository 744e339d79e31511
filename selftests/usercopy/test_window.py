# SPDX-License-Identifier: GPL-2.0
"""Distances of addresses that behave alike are one row of the table; auto never loses in it."""
from __future__ import annotations

import re

import pytest

from selftests.bench.claims import check, losses
from selftests.bench.measure import BenchError, cells_of, measures_of
from selftests.results import store
from selftests.usercopy.auto import is_zen4
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


def test_losses() -> None:
    """A cycle or a hundredth more is no loss; a noisy cell shows nothing, or a loss."""
    found = losses([("same", 10, 10, 10), ("cycle", 10, 10, 11), ("lost", 10, 10, 11.1),
                    ("hundredth", 1000, 1000, 1010), ("lost, too", 1000, 1000, 1011),
                    ("noisy", 10, 12, 12), ("lost in noise", 10, 12, 20), ("won", 1000, 1005, 100)])
    assert found == {"cells": 8, "lost": ["lost", "lost, too", "lost in noise"],
                     "not shown": ["noisy"]}
    with pytest.raises(BenchError, match="auto loses"):
        check(found, "here")
    with pytest.raises(BenchError, match="not idle"):
        check({"cells": 40, "lost": [], "not shown": ["noisy"]}, "here")
    check({"cells": 50, "lost": [], "not shown": ["noisy"]}, "here")


def test_auto_never_loses() -> None:
    """The published sweep of each CPU model, one copy at a time, and sizes from 1 to 64 bytes."""
    for block in store.read("usercopy", "bench_window")["blocks"]:
        assert set(block["claims"]) == {"hot", "isolated"}
        for measure, claim in block["claims"].items():
            assert claim["cells"] > 1000, measure
        check(block["claims"]["isolated"], "one copy at a time")
        if is_zen4(block["machine"]):
            slow = [copies for cell, copies in block["cells"].items()
                    if re.match(r"hot/(4096|32768|65536)/([1-9]|1[0-5])(-|$)", cell)]
            assert len(slow) >= 3 and all(copies["auto"][0] <= 0.15 * copies["movsb"][0]
                                          for copies in slow)
    timed = [block for block in store.read("usercopy", "bench")["blocks"] if "claims" in block]
    assert timed
    for block in timed:
        assert block["claims"]["cells"] > 20
        check(block["claims"], "1 to 64 bytes")
