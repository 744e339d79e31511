# SPDX-License-Identifier: GPL-2.0
"""A table of what is timed has a block for each CPU model."""
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from selftests.bench import __main__ as main
from selftests.bench import measure as bench
from selftests.bench.measure import keep, page_of
from selftests.results import store
from selftests.results.machine import cpu, same_model, told

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
    """A run replaces the block of its own CPU model and leaves each other as it is."""
    monkeypatch.setattr(store, "PUBLISHED", tmp_path)
    monkeypatch.setattr(store, "page_of", lambda _group, _name, table: page_of(table, part))
    others = [block(1, model="0"), block(2, vendor_id="another"), block(3, tsc_khz=2100000),
              block(4, hypervisor="KVMKVMKVM"), block(5, stepping=None)]
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


def test_print_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                    capsys: pytest.CaptureFixture[str]) -> None:
    """What a machine that is not idle measures is printed and not kept."""
    toy = SimpleNamespace(PROGRAMS=(), page=lambda table: page_of(table, part),
                          run=lambda _tree, _rounds: {
                              "cells": {"hot": {"8": {"a": {"median": 7.5}}}}})
    kept: list[object] = []
    monkeypatch.setattr(bench.importlib, "import_module", lambda _name: toy)
    monkeypatch.setattr(main, "keep", lambda *words: kept.append(words))
    for name in ("ready", "unchanged"):
        monkeypatch.setattr(store, name, lambda *_words: {})
    args = SimpleNamespace(tree=tmp_path, rounds=21, short=None, print_only=True)
    assert main.timed("toy", "bench", args)[1]
    assert "median 7.5" in capsys.readouterr().out and not kept
    args.print_only = False
    assert main.timed("toy", "bench", args)[1]
    assert "median 7.5" not in capsys.readouterr().out and len(kept) == 1


def test_missing_is_said() -> None:
    """What was not recorded, of the machine or of the quartiles, is said to be missing."""
    old = block(1, tsc_khz=None, stepping=None)
    old["cells"]["hot/8"]["a"][1:] = [None, None]
    page = page_of({"blocks": [old]}, part)
    assert "Not recorded: stepping, time-stamp counter (kHz)." in page
    assert "Quartiles of 1 medians were not recorded." in page
    assert "ot recorded" not in page_of({"blocks": [block(1)]}, part)


def test_same_model_needs_all() -> None:
    """Two machines whose stepping or frequency was not recorded are not taken for one."""
    assert same_model(MACHINE, dict(MACHINE))
    for key in ("vendor_id", "stepping", "tsc_khz", "hypervisor"):
        gone = {name: value for name, value in MACHINE.items() if name != key}
        assert not same_model(gone, dict(gone)), key
    assert told(MACHINE).startswith(f"Vendor {MACHINE['vendor_id']}, stepping ")
