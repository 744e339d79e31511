# SPDX-License-Identifier: GPL-2.0
"""What another machine timed becomes a block of the published table, or is refused as a whole."""
from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selftests.bench import share
from selftests.results import store

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
    block = json.loads(json.dumps(store.read(*TABLE.split("/"))["blocks"][-1]))
    files = [name for name in block["depends"] if not name.startswith(store.PATCHES)]
    block |= {"series": store.series_hash(store.queue_of_today()),
              "depends": store.depends("usercopy", files)}
    block["machine"]["stepping"] = "99"
    return {"cells": len(block["cells"]), "blocks": {TABLE: block}}


def test_add(whole: dict[str, Any], tmp_path: Path) -> None:
    """A good file adds a block of its CPU model; what write() writes is one."""
    before = store.read(*TABLE.split("/"))["blocks"]
    share.write(tmp_path / "file", whole["blocks"])
    assert share.add(tmp_path / "file") == [TABLE]
    assert store.read(*TABLE.split("/"))["blocks"] == [*before, whole["blocks"][TABLE]]


@pytest.mark.parametrize(("change", "says"), [
    (lambda block: block.update(series="0123456789abcdef"), "of series 0123456789abcdef, here is"),
    (lambda block: block["machine"].update(host="alpha"), "field 'host' is not known"),
    (lambda block: block.update(user="alpha"), "field 'user' is not known"),
    (lambda block: block["cells"].popitem(), "cells, it says"),
    (lambda block: block["cells"]["hot/8"]["fsrm"].__setitem__(0, 0.5), "hot/8, fsrm: 0.5 is not"),
    (lambda block: block["depends"].update({"Makefile": "x"}), "not of these programs: Makefile"),
    (lambda block: block.pop("machine"), "truncated, or no file"),
])
def test_add_refuses(whole: dict[str, Any], tmp_path: Path, change: Change, says: str) -> None:
    """A file of another series or program, with a field too many, with cells that are not there or
    not in order, and a part of a file are refused with one line, and no table changes."""
    before = store.read(*TABLE.split("/"))
    file = tmp_path / "file"
    file.write_text(json.dumps(whole)[:-9], encoding="utf-8")
    with pytest.raises(ValueError, match="truncated"):
        share.add(file)
    change(whole["blocks"][TABLE])
    file.write_text(json.dumps(whole), encoding="utf-8")
    with pytest.raises(ValueError) as refused:
        share.add(file)
    assert says in str(refused.value) and "\n" not in str(refused.value)
    assert store.read(*TABLE.split("/")) == before
