# SPDX-License-Identifier: GPL-2.0
"""The published counts of context switches show fewer lines and misses, and nowhere more."""
import itertools

import pytest

from selftests.hotlines.model import (
    CROSSING, KINDS, RANDOM, TASKS, before, leader, moved, ratio, slower, touched)
from tools.figures import store

pytestmark = pytest.mark.static
# What the group promises of each kind of ring: the lines that are touched, and the part that is
# left of the first-level misses, up to so many tasks
MOST_LINES = 17
LEFT = {8: 0.85, 12: 0.87, max(TASKS): 0.94}


def test_lines_per_switch() -> None:
    """The fields that a switch touches lie on no more lines than promised, and before on more."""
    table = store.read("hotlines", "model")
    for kind in KINDS:
        assert 0 < len(touched(table, kind)) <= MOST_LINES < len(touched(before(), kind))


def test_fewer_misses() -> None:
    """No more than the promised part of the misses is left, at each number of tasks."""
    table = store.read("hotlines", "model")
    for name, kind, tasks in itertools.product(RANDOM, KINDS, TASKS):
        left = next(part for most, part in LEFT.items() if tasks <= most)
        assert ratio(table, name, f"{kind}_{tasks}", "l1d") <= left, f"{name} {kind}_{tasks}"


def test_no_false_sharing() -> None:
    """Where tasks wake each other on two CPUs, no more lines of task_structs move between them in
    each boot than before."""
    cells = store.read("hotlines", "model")["cells"]
    for ring in (f"{kind}_{tasks}" for kind in KINDS for tasks in CROSSING):
        most = max(moved(before()["cells"], ring, "task_struct"))
        assert 0 < min(moved(cells, ring, "task_struct")) <= most, ring


def test_busy_leader() -> None:
    """Where a leader sleeps and wakes while its threads fault pages and others call membarrier(),
    no boot moves more lines of task_structs between CPUs than the worst one before."""
    cells = store.read("hotlines", "model")["cells"]
    assert max(leader(cells)) <= max(leader(before()["cells"]))


def test_never_slower() -> None:
    """No ring has more misses in each boot than before."""
    assert not slower(store.read("hotlines", "model"))
