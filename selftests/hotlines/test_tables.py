# SPDX-License-Identifier: GPL-2.0
"""The published counts of context switches show fewer lines and nowhere more misses."""
from __future__ import annotations

import pytest

from selftests.hotlines.model import KINDS, before, slower, touched
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


def test_never_slower() -> None:
    """A ring has more misses in each boot than before only where README says so."""
    assert slower(store.read("hotlines", "model")) == SLOWER
