# SPDX-License-Identifier: GPL-2.0
"""The published tables are made of the kept results, and those are whole."""
from __future__ import annotations

import json

import pytest

import before

pytestmark = pytest.mark.static
KEYS = {"kind", "workload", "words", "geometry", "kernel", "qemu", "cpu", "memory",
        "command", "date", "labels", "fully_associative"}


def test_published_results() -> None:
    """Each cell has its result, which says how to get it again."""
    for name, arguments in before.cells().items():
        result = before.kept(name)
        assert KEYS <= set(result), name
        assert result["workload"] == arguments[0]
        assert {"release", "compiler", "series", "image"} <= set(result["kernel"])
        for word in arguments:
            if word.startswith("--set="):
                assert word.removeprefix("--set=") in result["command"]
                key, _, value = word.removeprefix("--set=").partition("=")
                assert result["words"][key] == value
    assert {path.stem for path in before.KEPT.glob("*.json")} == set(before.cells())


def test_published_tables() -> None:
    """The tables are what before.py makes of the results today."""
    for path, text in before.pages().items():
        assert path.read_text() == text, f"{path.name}: run before.py tables"


def test_published_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """One changed number in a result changes the table."""
    whole = before.pages()
    kept = before.kept

    def altered(name: str) -> dict:
        result = json.loads(json.dumps(kept(name)))
        for label in result["labels"].values():
            label["store_misses"]["l1d"] += 10 * label["units"]
        return result
    monkeypatch.setattr(before, "kept", altered)
    for path, text in before.pages().items():
        assert text != whole[path]


def test_published_is_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of another kernel is no cell of the table."""
    before.check_one_kernel()
    kept = before.kept

    def altered(name: str) -> dict:
        result = kept(name)
        if name == "ring-64-10":
            result["kernel"]["series"] = "another"
        return result
    monkeypatch.setattr(before, "kept", altered)
    with pytest.raises(ValueError, match="ring-64-10 has another kernel"):
        before.pages()
