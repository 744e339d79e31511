# SPDX-License-Identifier: GPL-2.0
"""Distances of addresses that behave alike are one row of the table; auto is nowhere slower than
the rule allows, on a CPU on which it does something."""
from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import pytest

from selftests.bench.claims import compare, lines_of
from selftests.bench.measure import cells_of, measures_of
from selftests.results import store
from selftests.usercopy import auto, bench, bench_window
from selftests.usercopy.auto import is_zen4
from selftests.usercopy.bench_window import Row, build, compared, joined, middle, rows_of

TABLES = {"bench": bench.complaints, "bench_window": bench_window.complaints}
# rep movsb, and an eighth of it once more
PLANTED = ('"mov %%rcx, %%rax; rep movsb; shr $3, %%rax; mov %%rax, %%rcx; sub %%rax, %%rdi; '
           'sub %%rax, %%rsi; rep movsb"')


def row(size: int, delta: int, median: float) -> Row:
    """Return a row of one copy."""
    return {"bytes": size, "delta": delta, "a": [median, median - 1, median + 1, median + delta]}


@pytest.mark.static
def test_window_joined() -> None:
    """A window is a row of its own, a small difference is none, and no row has two sizes."""
    rows = [row(64, 0, 100), row(64, 1, 300), row(64, 2, 310), row(64, 3, 100), row(4096, 3, 100)]
    found = joined(rows, ("a",))
    assert list(found) == ["64/0", "64/1-2", "64/3", "4096/3"]
    assert found["64/1-2"]["a"] == {"median": 305, "low": 299, "high": 311, "worst": 312}
    measures = {"hot": found}
    assert measures_of({"cells": cells_of(measures)}) == measures
    orders = [[row(64, 0, median)] for median in (30, 10, 20)]
    assert middle(orders, ("a",)) == [row(64, 0, 20)]


@pytest.mark.static
def test_compare() -> None:
    """auto is slower, or a cell noisy, by more than the cycles and the part that are allowed."""
    found = compare([("same", 10, 10, 10), ("cycle", 10, 10, 11), ("slower", 10, 10, 11.1),
                     ("hundredth", 1000, 1000, 1010), ("slower, too", 1000, 1000, 1011),
                     ("noisy", 10, 12, 12), ("faster", 1000, 1005, 100)], 1, 0.01)
    assert found == {"cells": 7, "noisy": ["noisy"], "slower": {
        "slower": [10, 10, 11.1], "slower, too": [1000, 1000, 1011]}}
    assert len(lines_of(found)) == 3
    assert not lines_of({"cells": 50, "slower": {}, "noisy": ["one"]})


def complaints(tables: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return what is wrong with the blocks of the two tables, by the tables' own rules."""
    found = []
    for name, blocks in tables.items():
        timed = [block for block in blocks if is_zen4(block["machine"])]
        if not timed:
            found.append(f"{name}: no block of a CPU on which auto does anything")
        for block in timed:
            found += TABLES[name](block)
            if name == "bench_window" and any(block["compared"][measure]["cells"] < 1000
                                              for measure in ("hot", "isolated")):
                found.append("bench_window: not all distances were timed")
    return found


def published() -> dict[str, list[dict[str, Any]]]:
    """Return the published blocks of the two tables."""
    return {name: store.read("usercopy", name)["blocks"] for name in TABLES}


@pytest.mark.static
@pytest.mark.xfail(strict=True, raises=AssertionError,
                   reason="on Zen 4 auto is more than 3 cycles slower at 128 bytes")
def test_auto_never_loses() -> None:
    """The published sweep of a CPU on which auto does something is as the rule says."""
    assert not complaints(published())


def good() -> dict[str, list[dict[str, Any]]]:
    """Return blocks of a Zen 4 on which auto is as it should be."""
    machine = {"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "17"}
    cells = {f"hot/{size}/1-15": {"movsb": [100.0], "auto": [100 * part]}
             for size, part in bench_window.GAINS.items()}
    window = {"machine": machine, "returns": "safe-RET", "cells": cells,
              "compared": {measure: {"cells": 1440, "slower": {}, "noisy": []}
                           for measure in ("hot", "isolated")}}
    random = {f"distances/{size}": {"fsrm": [50.0], "fsrm_again": [50.0], "auto": [50.0]}
              for size in bench.DISTANCES}
    return {"bench": [{"machine": machine, "returns": "safe-RET", "cells": random}],
            "bench_window": [window]}


@pytest.mark.static
def test_auto_needs_a_block() -> None:
    """A good block passes; none, one that gains nothing and one that is slower somewhere do not."""
    assert not complaints(good())
    without = {name: [block for block in blocks if not is_zen4(block["machine"])]
               for name, blocks in published().items()}
    assert len(complaints(without)) == 2
    equal = good()
    for copies in equal["bench_window"][0]["cells"].values():
        copies["auto"] = copy.copy(copies["movsb"])
    assert len(complaints(equal)) == len(bench_window.GAINS)
    slower = good()
    slower["bench"][0]["cells"]["distances/1024"]["auto"] = [50.1]
    slower["bench"][0]["cells"]["distances/64"]["auto"] = [52.1]
    slower["bench_window"][0]["compared"]["hot"]["slower"] = {"hot/64/100": [10.0, 10.0, 14.0]}
    assert len(complaints(slower)) == 3


def test_no_retry_for_auto(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted auto that takes an eighth longer is reported by the only run of each distance.

    A cell whose two equal runs differ is noisy and judges nothing; a busy machine has many.
    """
    monkeypatch.setattr(auto, "is_zen4", lambda _machine: False)
    monkeypatch.setattr(auto, "UNCHECKED", PLANTED)
    rows = rows_of(build(Path(os.environ["CF_TREE"]), tmp_path), "hot", 1, 65536)
    found = compared("hot", rows)
    assert len(rows) == found["cells"] == 144
    quiet = len(rows) - len(found["noisy"])
    if quiet < len(rows) / 4:
        pytest.skip(f"the machine is too busy: {quiet} of {len(rows)} cells are not noisy")
    assert len(found["slower"]) > 0.8 * quiet, found
