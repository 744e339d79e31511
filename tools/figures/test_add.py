# SPDX-License-Identifier: GPL-2.0
"""What another machine timed becomes a block of the published table, or is refused as a whole."""
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.figures import share, store, tables
from tools.figures.bench import main
from tools.figures.cells import Cell
from tools.series import series_hash

pytestmark = pytest.mark.static
TABLE = "usercopy/bench"
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The content of a file of another machine: a published block, as if made today; the published
    tables are copies."""
    published = tmp_path / "published"
    shutil.copytree(store.PUBLISHED, published)
    monkeypatch.setattr(store, "PUBLISHED", published)
    block = json.loads(json.dumps(store.read(*TABLE.split("/"))["blocks"][-1],
                                  default=Cell.columns))
    block |= {"series": series_hash(store.series_of_today().patches),
              "depends": store.depends("usercopy", tables.find(*TABLE.split("/")).sources())}
    block["machine"]["stepping"] = "99"
    return {"cells": len(block["cells"]), "blocks": {TABLE: block}}


def command(*words: object) -> int:
    """Run the command that `make results-add` and `make bench` run; return its exit status."""
    return main([str(word) for word in words])


def test_add(whole: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A good file adds a block of its CPU model, and replaces it; what write() writes is one."""
    before = store.read(*TABLE.split("/"))["blocks"]
    block = share.block_of(whole["blocks"][TABLE])
    share.write(tmp_path / "file", {TABLE: block})
    assert json.loads((tmp_path / "file").read_text(encoding="utf-8")) == whole
    for _ in range(2):
        assert command("--add", tmp_path / "file") == 0
        assert store.read(*TABLE.split("/"))["blocks"] == [*before, block]
        assert capsys.readouterr().out == f"bench: added to {TABLE}\n"


@pytest.mark.parametrize(("change", "says"), [
    (lambda block: block.update(series="0123456789abcdef"), "of series 0123456789abcdef, here is"),
    (lambda block: block["machine"].update(host="alpha"),
     "field 'host' is not there, or not known"),
    (lambda block: block.update(user="alpha"), "field 'user'"),
    (lambda block: block.pop("date"), "field 'date'"),
    (lambda block: block["machine"].pop("tsc_khz"), "field 'tsc_khz'"),
    (lambda block: block["cells"].pop(), "cells, it says"),
    (lambda block: block["cells"].append(block["cells"][0]), "cells, it says"),
    (lambda block: block.update(cells=block["cells"][:1]), "not the cells of this"),
    (lambda block: block.update(cells=[cell for cell in block["cells"] if cell.get("bytes") != 8]),
     "where a block of make bench"),
    (lambda block: block["cells"][0].update(median=0.5), "hot/1, none: "),
    (lambda block: block["cells"][0].update(worst=math.inf), "hot/1, none: "),
    (lambda block: block["cells"][0].pop("median"), "truncated, or not a file"),
    (lambda block: block["cells"][0].update(host="alpha"), "truncated, or not a file"),
    (lambda block: block["depends"].popitem(), "not made by the programs of this checkout"),
    (lambda block: block.update(rounds=1), "1 rounds, fewer than 15"),
    (lambda block: block["machine"].update(hypervisor="TCGTCGTCGTCG"), "under QEMU's emulation"),
    (lambda block: block.pop("machine"), "no 'machine' where"),
])
def test_add_refuses(whole: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str],
                     change: Change, says: str) -> None:
    """A file of another series or program, with a field too many or too few, or with cells that do
    not add up is refused with one line, and no table changes."""
    before = store.read(*TABLE.split("/"))
    change(whole["blocks"][TABLE])
    (tmp_path / "file").write_text(json.dumps(whole), encoding="utf-8")
    assert command("--add", tmp_path / "file") == 1
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1
    assert store.read(*TABLE.split("/")) == before


def test_add_truncated(whole: dict[str, Any], tmp_path: Path,
                       capsys: pytest.CaptureFixture[str]) -> None:
    """A part of a file is refused, as none is; a short run needs a tree,
    not the name of a group."""
    (tmp_path / "file").write_text(json.dumps(whole)[:-9], encoding="utf-8")
    for name, says in (("file", "truncated"), ("none", "No such file")):
        assert command("--add", tmp_path / name) == 1
        assert says in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command("--short", tmp_path / "short")
    assert "a tree and at least 15 rounds are needed" in capsys.readouterr().err
