# SPDX-License-Identifier: GPL-2.0
"""A table of what is timed has a block for each CPU model."""
import dataclasses
from pathlib import Path

import pytest

from tools.figures import bench, share, store, tables
from tools.figures.cells import Cell, by_row, cell_of, csv_of, one_row, with_cells
from tools.figures.machine import cpu, same_model
from tools.figures.measure import NotBuilt, keep, listing

pytestmark = pytest.mark.static
MACHINE = {**cpu(), "tsc_khz": 2000000, "hypervisor": "none", "kernel": "7.3.4",
           "caches": "L1 data 32K"}


def block(median: float, **machine: object) -> dict:
    """Return a block of one figure, measured on this machine but for what is given."""
    return {"machine": {**MACHINE, **machine}, "series": "x", "depends": {},
            "cells": [Cell(measure="hot", bytes=8, copy="a", median=median, low=median - 1,
                           high=median + 1)]}


def test_blocks_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run replaces the block of its own CPU model and leaves each other as it is, for one those
    of machines of which not all was recorded."""
    monkeypatch.setattr(store, "PUBLISHED", tmp_path)
    others = [block(1, model="0"), block(2, vendor_id="another"), block(3, tsc_khz=2100000),
              block(4, hypervisor="KVMKVMKVM"), block(5, stepping=None)]
    assert not same_model(*[others[-1]["machine"]] * 2)
    for each in others:
        keep("toy", each)
    keep("toy", block(6))
    last = block(7, tsc_khz=2000100, kernel="7.4.0")
    keep("toy", last)
    assert store.read("toy", "bench")["blocks"] == [*others, last]
    assert listing(last).split() == ["a", "hot/8", "7.0"]


def test_cells() -> None:
    """Rows come back from CSV as they were; a column that none has is not there, one that is not
    known is refused, and a row is found by its columns."""
    one = Cell(measure="hot", bytes=8, delta_first=1, delta_last=15, copy="a, b", median=1.5,
               low=1.0, high=2.25)
    cells = [one, dataclasses.replace(one, copy="c", bypassed=0.0),
             dataclasses.replace(one, delta_first=16, delta_last=16)]
    blocks = [{"machine": MACHINE, "cells": cells}, {"machine": MACHINE, "cells": cells[:1]}]
    text = csv_of(blocks)
    assert text.startswith("block,cpu,measure,bytes,delta_first,delta_last,copy,bypassed,median,")
    bare = [{"machine": MACHINE}] * 2
    assert with_cells(bare, text) == blocks
    assert [row["a, b"].name for row in by_row(cells)] == ["hot/8/1-15", "hot/8/16"]
    assert one_row(cells, delta_first=1) == {"a, b": one, "c": cells[1]}
    with pytest.raises(KeyError, match="bytes=8"):
        one_row(cells, bytes=8)
    for wrong in ("copy,", "high"):
        with pytest.raises((ValueError, TypeError)):
            with_cells(bare, text.replace(wrong, "other" + wrong, 1))
    with pytest.raises(ValueError, match="no column host"):
        cell_of(one.columns() | {"host": "a"})


def test_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                   capsys: pytest.CaptureFixture[str]) -> None:
    """A table whose program is not built is left out with the reason; alone that is a failure."""
    def measure(table: tables.Timed, *_args: object) -> dict:
        if table.group == "hotlines":
            raise NotBuilt("not built")
        return block(1)
    monkeypatch.setattr(bench, "measure", measure)
    monkeypatch.setattr(share, "write", lambda *_args: None)
    for names, code in (["colouring", "hotlines"], 0), (["hotlines"], 1):
        words = [*names, "--tree=.", "--short", str(tmp_path / "file")]
        assert bench.main(words) == code
        assert "bench: hotlines/bench: left out: not built" in capsys.readouterr().err
