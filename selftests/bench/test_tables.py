# SPDX-License-Identifier: GPL-2.0
"""The published tables of what is timed are made of the kept results."""

import copy
import json
from types import ModuleType

import pytest

import bench
import copies
import tasks

pytestmark = [pytest.mark.static,
              pytest.mark.parametrize("of, name", [(bench, "nontemporal"), (copies, "unrolled"), (tasks, "uncoloured")],
                                      ids=("stream", "copies", "tasks"))]


def result(of: ModuleType) -> dict:
    """The kept result."""
    return json.loads(of.KEPT.read_text(encoding="utf-8"))


def test_tables(of: ModuleType, name: str) -> None:
    """They are what the program makes of it today."""
    del name
    assert of.TABLE.read_text(encoding="utf-8") == of.page(result(of)), f"run {of.__name__}.py tables"


def test_tables_can_fail(of: ModuleType, name: str) -> None:
    """One changed figure changes them."""
    for measure in result(of)["measures"]:
        other = copy.deepcopy(result(of))
        size = next(iter(other["measures"][measure]))
        other["measures"][measure][size][name]["median"] += 1
        assert of.page(other) != of.page(result(of)), measure
