# SPDX-License-Identifier: GPL-2.0
"""The published counts of context switches show fewer lines and nowhere more misses."""
from __future__ import annotations

import pytest

from selftests.hotlines.model import CROSSING, KINDS, before, moved, slower, touched
from selftests.hotlines.short import SLOWER
from selftests.results import store

pytestmark = pytest.mark.static
# What the group promises of each kind of ring
FEWER_LINES = 8


def test_lines_per_switch() -> None:
    """The fields that a switch touches lie on at least so many lines fewer than before."""
    table = store.read("hotlines", "model")
    for kind in KINDS:
        assert len(touched(table, kind)) <= before()["touched"][kind] - FEWER_LINES


def test_no_false_sharing() -> None:
    """Where tasks wake each other on two CPUs, no more lines of task_structs move between them in
    each boot than before."""
    cells = store.read("hotlines", "model")["cells"]
    for ring in (f"{kind}_{tasks}" for kind in KINDS for tasks in CROSSING):
        assert min(moved(cells, ring, "task_struct")) <= max(moved(before()["cells"], ring, "task_struct")), ring


def test_never_slower() -> None:
    """A ring has more misses in each boot than before only where README says so."""
    assert slower(store.read("hotlines", "model")) == SLOWER
