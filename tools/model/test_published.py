# SPDX-License-Identifier: GPL-2.0
"""The published tables of the model are made of the kept counts, and those are whole."""
import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tools.model import published
from tools.model.published import Published, groups
from tools.model.workloads import WORKLOADS
from tools.figures import store

pytestmark = pytest.mark.static
KEYS = {"kind", "series", "configuration", "kernel", "qemu", "cpu", "memory", "command", "date",
        "geometry", "depends", "runs", "cells"}
GROUPS = pytest.mark.parametrize("of", groups().values(), ids=lambda of: of.group)


@GROUPS
def test_published_results(of: Published) -> None:
    """Each run has its cells, and says how to get them again."""
    table = store.read(of.group, "model")
    assert KEYS | ({"other kernels"} if of.others else set()) == set(table)
    assert set(table.get("other kernels", {})) == set(of.others)
    assert ({"release", "compiler", "image", "bytes"} == set(table["kernel"])
            and table["kernel"]["bytes"])
    assert set(table["runs"]) == set(of.runs)
    assert set(table["cells"]) == {f"{run}/{label}" for run in of.runs
                                   for label in published.result_of(table, run)["labels"]}
    assert all(published.result_of(table, run)["labels"] for run in of.runs)
    for name, arguments in of.runs.items():
        run = table["runs"][name]
        settings = (word.removeprefix("--set=") for word in arguments)
        given = dict(word.split("=", 1) for word in settings
                     if "=" in word and not word.startswith("--"))
        assert run["workload"] == arguments[0]
        assert run["words"] == {**WORKLOADS[arguments[0]].words, **given}, name
        for word in arguments[1:]:
            assert word.partition("=")[2] in run["command"], name
    for path in of.files():
        assert store.hash_of(path), path


def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Published, Path, list[str]]:
    """Return a table of two runs, the kernel's O= directory, and the runs that are counted, by a
    model that is none."""
    counted: list[str] = []
    kernel, results = tmp_path / "vm", tmp_path / "results"
    (kernel / "arch/x86/boot").mkdir(parents=True)
    (kernel / "arch/x86/boot/bzImage").write_text("image")
    (kernel / ".config").write_text("CONFIG_TOY=y\n")
    results.mkdir()

    def model(arguments: list[str]) -> Any:
        name, booted = (arguments[arguments.index(word) + 1] for word in ("--name", "--kernel"))
        counted.append(name)
        (results / f"{name}.json").write_text(json.dumps({
            "workload": "ring", "words": {}, "geometry": {}, "qemu": "QEMU", "cpu": "max",
            "memory": "1G",
            "kernel": {"release": "7.3.4", "series": "x", "append": "", "configuration": None,
                       "image": (tmp_path / booted / "arch/x86/boot/bzImage").read_text()},
            "command": "make model", "date": "2026-01-01", "seconds": 1.0,
            "labels": {"ring": {"units": len(counted)}}}))
        broken = (tmp_path / booted / "arch/x86/boot/bzImage").read_text() == "broken"
        return type("Done", (), {"returncode": int(broken), "stderr": "", "stdout": "broken"})
    monkeypatch.setattr(published, "model", model)
    monkeypatch.setenv("CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FRESH", raising=False)
    monkeypatch.setattr(published, "KERNEL", kernel)
    monkeypatch.setattr(published, "RESULTS", results)
    monkeypatch.setattr(store, "PUBLISHED", tmp_path / "published")
    monkeypatch.setattr(store, "refusal", lambda _files, _tree: "")
    monkeypatch.setattr(Published, "files", lambda _self: ["tools/model/tags.h"])
    return (Published("toy", {"a": ["ring"], "b": ["ring", "--instructions"]},
                      lambda _name, result: result["labels"], ("TOY",)), kernel, counted)


def test_published_further_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run on a further kernel is counted there, and again when that kernel changes; the table is
    made when all runs are there, and none is counted twice for that."""
    of, kernel, counted = toy(monkeypatch, tmp_path)
    shutil.copytree(kernel, tmp_path / "other")
    of = dataclasses.replace(of, others={"other": ("toy",)}, on={"b": "other"})
    image = tmp_path / "other/arch/x86/boot/bzImage"
    image.write_text("broken")
    assert of.count() == 1 and sorted(counted) == ["toy-a", "toy-b"]
    assert not store.file_of("toy", "model").exists()
    for text in ("one", "another"):
        image.write_text(text)
        counted.clear()
        assert of.count() == 0 and counted == ["toy-b"]
        assert store.read("toy", "model")["other kernels"]["other"]["image"] == text
    table = store.read("toy", "model")
    assert set(table["cells"]) == {"a/ring", "b/ring"}
    assert set(table["depends"]) == {"tools/model/tags.h", "patches of toy"}
    (kernel / ".config").write_text("")
    with pytest.raises(ValueError, match="has no CONFIG_TOY"):
        of.count()


def test_published_is_one_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run of another kernel is in no table, and a dirty tree's neither."""
    of, kernel, _ = toy(monkeypatch, tmp_path)
    about = {"workload": "ring", "words": {}, "geometry": {}, "qemu": "QEMU", "cpu": "max",
             "memory": "1G",
             "command": "", "date": "", "labels": {"ring": {}}}
    runs = {name: {**about, "kernel": {"series": series, "append": name, "configuration": None}}
            for name, series in (("a", "x"), ("b", "y"))}
    with pytest.raises(ValueError, match="b has another kernel"):
        of.table_of(runs, {})
    monkeypatch.setattr(store, "refusal", lambda _files, _tree: "not published: an edit")
    with pytest.raises(ValueError, match="not published: an edit"):
        of.count()
