# SPDX-License-Identifier: GPL-2.0
"""Published tables are whole, say when they are not of today's files, and are not made of what is
in no commit."""
import os
import subprocess
from pathlib import Path

import pytest

from tools import environment
from tools.figures import pages, pictures, store, tables
from tools.figures.machine import cpu
from tools.tree import small_tree
from tools.series import load_series

PATCH = "Subject: a patch\n\n{message}\n---\n--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old\n+{line}\n"
KSELFTEST = ("--- a/tools/testing/selftests/a.c\n+++ b/tools/testing/selftests/a.c\n"
             "@@ -1 +1 @@\n-old\n+new\n")
SERIES = ("# --- group preparations: before all ---\none.patch\n"
          "# --- group toy: a toy ---\ntwo.patch\n")
static = pytest.mark.static


@pytest.mark.full
def test_stale_tables() -> None:
    """What is modelled is of today's files."""
    found = store.stale(("modelled",))
    assert not found, "\n".join(found)


@static
def test_tables_whole() -> None:
    """Each file is of a table, as the writer writes it, with what every table has."""
    found = list(store.tables())
    files = set()
    for group, name, table in found:
        path = store.file_of(group, name)
        for suffix, text in store.texts_of(table).items():
            files.add(path.with_suffix(suffix))
            assert path.with_suffix(suffix).read_text(encoding="utf-8") == text, path
        for about in table.get("blocks", [table]):
            assert {"series", "command", "date", "depends", "cells"} <= set(about), path
            assert about["cells"], path
    named = {(table.group, table.name) for table in (*tables.timed(), *tables.modelled())}
    there = {(group, name) for group, name, _ in found}
    assert not named - there, "in FIGURES and not published: make bench or model-tables, commit"
    assert not there - named, "published and in no FIGURES"
    files |= {store.file_of(table.group, table.name).with_suffix(".rst")
              for table in tables.modelled()}
    assert files == {path for path in store.PUBLISHED.glob("*/*") if path.is_file()}


@static
@pytest.mark.parametrize("table", tables.modelled(), ids=lambda table: table.group)
def test_pages(table: tables.Modelled) -> None:
    """The page is what the program makes of the table today."""
    page = store.file_of(table.group, table.name).with_suffix(".rst").read_text(encoding="utf-8")
    assert page == table.text(), "tools/run tools.figures pages"


@static
def test_no_includes() -> None:
    """No page includes a table, and each that has one between marks has the one of today; a page
    that is not so is found."""
    area = ".. begin of results/hotlines/model\n{}.. end of results/hotlines/model\n"
    whole = pages.filled(area.format(""))
    assert pages.problems(whole) == []
    for wrong, said in ((area.format("an older table\n"), "differs from the table"),
                        (".. include:: results/hotlines/model.rst\n", "is included")):
        assert [said in problem for problem in pages.problems(wrong)] == [True], wrong
    with pytest.raises(ValueError, match="has no other end"):
        pages.problems(area.replace("end of results/hotlines", "end of results/colouring"))
    found = {path.name: problems for path in pages.documents()
             if (problems := pages.problems(path.read_text(encoding="utf-8")))}
    assert not found
    assert any(pages.AREA.search(path.read_text(encoding="utf-8")) for path in pages.documents())


@static
def test_gains() -> None:
    """README's table of gains has short rows of each feature and the figures of today's tables; a
    figure that is changed is found."""
    table = pages.gains().splitlines()
    rows = pages.gain_rows()
    assert set(rows) == {group.name for group in store.series_of_today().groups} - {"preparations"}
    assert all(rows.values()) and len(table) == 2 + sum(map(len, rows.values()))
    readme = (store.ROOT / "README.md").read_text(encoding="utf-8")
    assert max(map(len, readme.splitlines())) <= 100 and 60 <= readme.count("\n") <= 90
    line = next(line for line in readme.splitlines() if " → " in line)
    assert pages.problems(readme.replace(line, line.replace(" → ", "0 → "))) == [
        "gains: the page differs from the table: tools/run tools.figures pages"]


@pytest.fixture(name="repository")
def fixture_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a queue of two patches and a table's program, committed."""
    monkeypatch.setattr(store, "ROOT", tmp_path)
    monkeypatch.setattr(store, "PUBLISHED", tmp_path / "Documentation/results")
    monkeypatch.setattr(store, "series_of_today", lambda: load_series(tmp_path))
    (tmp_path / "patches").mkdir()
    (tmp_path / "series").write_text(SERIES)
    for name in ("one", "two"):
        (tmp_path / f"patches/{name}.patch").write_text(PATCH.format(message="Why.", line=name))
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs/a.c").write_text("a")
    for words in ("init -q", "add .",
                  "-c user.name=user -c user.email=user@localhost commit -q -m all"):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)
    return tmp_path


@static
@pytest.mark.parametrize("what, said", [
    ("nothing", ""), ("file", "programs changed"), ("gone", "programs is gone"),
    ("patch", "patches of toy changed"), ("moved", ""), ("kselftest", ""), ("preparation", ""),
    ("unrecorded", "what it depends on was not recorded")])
def test_stale_says_why(repository: Path, what: str, said: str) -> None:
    """A table is stale when a file or a patch of its group is not as it was; the line names it. A
    hunk that only moved is as it was, and a kselftest is no part."""
    depends = {} if what == "unrecorded" else store.depends("toy", ["programs"])
    store.publish("toy", "model", {"kind": "modelled", "series": "x", "depends": depends,
                                   "cells": {"a": 1}})
    moved = PATCH.format(message="Why.", line="two").replace("@@ -1 +1 @@", "@@ -71,1 +82,1 @@")
    changes = {"file": ("programs/a.c", "b"), "moved": ("patches/two.patch", moved),
               "patch": ("patches/two.patch", PATCH.format(message="", line="b")),
               "kselftest": ("patches/two.patch", PATCH.format(message="", line="two") + KSELFTEST),
               "preparation": ("patches/one.patch", PATCH.format(message="", line="b"))}
    if what in changes:
        (repository / changes[what][0]).write_text(changes[what][1])
    if what == "gone":
        (repository / "programs/a.c").unlink()
        with pytest.raises(ValueError, match="no file programs"):
            store.depends("toy", ["programs"])
    assert store.stale() == ([f"stale: toy/model, modelled, of series x: {said}"] if said else [])
    assert store.stale(("timed",)) == []


@static
def test_stale_timed(repository: Path) -> None:
    """A block of another CPU model is listed with its series; this machine's can be stale."""
    del repository
    own = {**cpu(), "tsc_khz": 1, "hypervisor": "none"}
    blocks = [{"machine": {**own, **more}, "series": series, "depends": {}, "cells": []}
              for series, more in (("x", {}), ("y", {"stepping": "another"}),
                                   ("z", {"vendor_id": None}))]
    store.publish("toy", "bench", {"kind": "timed", "blocks": blocks})
    what = "toy/bench, timed on {model name}, family {cpu family}, model {model}".format(**own)
    assert store.stale() == [f"stale: {what}, of series x: what it depends on was not recorded",
                             f"{what}: of series y", f"{what}: of series z"]


@static
def test_dirty_is_refused(repository: Path, tmp_path: Path) -> None:
    """Nothing is published of files or of a tree with changes that are in no commit or patch."""
    tree = small_tree.make_tree(tmp_path / "linux")
    with pytest.raises(ValueError, match="no kernel tree with the series"):
        store.refusal(["programs"], tree)
    queue = small_tree.make_queue(tmp_path / "queue", 2)
    subprocess.run([environment.ROOT / "tools/run", "tools.tree.apply", "apply"], check=True,
                   capture_output=True,
                   env=os.environ | {"KDIR": str(tree), "QUEUE": str(queue), "GROUP": ""})
    assert store.refusal(["programs"], tree) == ""
    patched = tree / "lib/file0.c"
    pushed = patched.read_text()
    patched.write_text("edited\n")
    why = store.refusal(["programs"], tree)
    assert why.endswith("has changes that are in no commit or patch: lib/file0.c")
    patched.write_text(pushed)
    for name in ("programs/new.c", "patches/two.patch", "series"):
        path = repository / name
        old = path.read_text() if path.exists() else None
        path.write_text(f"{old or ''}# changed\n")
        why = store.refusal(["programs"], tree)
        assert why.startswith("not published: the repository has changes"), why
        assert "\n" not in why and name in why
        path.unlink() if old is None else path.write_text(old)
    (repository / "another").write_text("of no table")
    assert store.refusal(["programs"], tree) == ""


def test_pictures() -> None:
    """The pictures are those of today's tables, to the byte, README and the pages have each of
    them, and nothing else is among them."""
    drawn = pictures.files()
    assert set(pictures.PICTURES.iterdir()) == set(drawn)
    for path, picture in drawn.items():
        assert path.read_bytes() == pictures.draw(*picture), \
            f"{path.name} differs: tools/run tools.figures pictures"
    text = "".join(path.read_text(encoding="utf-8") for path in pages.documents())
    assert all(f"pictures/{name}-light.svg" in text for name in pictures.drawn())
