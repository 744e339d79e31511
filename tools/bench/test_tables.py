# SPDX-License-Identifier: GPL-2.0
"""A table of what is timed has a block for each CPU model."""
from __future__ import annotations

from pathlib import Path

import pytest

from tools.bench.measure import keep, page_of
from tools.results import store
from tools.results.machine import cpu, same_model

pytestmark = pytest.mark.static
MACHINE = {**cpu(), "tsc_khz": 2000000, "hypervisor": "none", "kernel": "7.3.4",
           "caches": "L1 data 32K"}


def part(of: dict) -> str:
    """Return what the page of the tests' table has of a block."""
    return f"median {of['measures']['hot']['8']['a']['median']}\n"


def block(median: float, **machine: object) -> dict:
    """Return a block of one figure, measured on this machine but for what is given."""
    return {"machine": {**MACHINE, **machine}, "series": "x", "depends": {},
            "cells": {"hot/8": {"a": [median, median - 1, median + 1]}}}


def test_blocks_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run replaces the block of its own CPU model and leaves each other as it is, for one those
    of machines of which not all was recorded."""
    monkeypatch.setattr(store, "PUBLISHED", tmp_path)
    monkeypatch.setattr(store, "page_of", lambda _group, _name, table: page_of(table, part))
    others = [block(1, model="0"), block(2, vendor_id="another"), block(3, tsc_khz=2100000),
              block(4, hypervisor="KVMKVMKVM"), block(5, stepping=None)]
    assert not same_model(*[others[-1]["machine"]] * 2)
    for each in others:
        keep("toy", each)
    keep("toy", block(6))
    last = block(7, tsc_khz=2000100, kernel="7.4.0")
    keep("toy", last)
    assert store.read("toy", "bench")["blocks"] == [*others, last]
    page = store.file_of("toy", "bench").with_suffix(".rst").read_text(encoding="utf-8")
    medians = [line for line in page.split("\n") if line.startswith("median")]
    assert medians == [f"median {value}" for value in (1, 2, 3, 4, 5, 7)]
    assert page.count(".. rubric:: ") == 6
