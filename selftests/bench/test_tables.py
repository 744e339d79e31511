# SPDX-License-Identifier: GPL-2.0
"""The published tables of what is timed are made of the kept results."""

import copy
import json

import pytest

from selftests.bench import bench

pytestmark = pytest.mark.static


def result() -> dict:
    """The kept result."""
    return json.loads(bench.KEPT.read_text(encoding="utf-8"))


def test_tables() -> None:
    """They are what bench.py makes of it today."""
    assert bench.TABLE.read_text(encoding="utf-8") == bench.page(result()), "run bench.py tables"


def test_tables_can_fail() -> None:
    """One changed figure changes them."""
    for measure in bench.MEASURES:
        other = copy.deepcopy(result())
        size = next(iter(other["measures"][measure]))
        other["measures"][measure][size]["nontemporal"]["median"] += 1
        assert bench.page(other) != bench.page(result()), measure
