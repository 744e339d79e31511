# SPDX-License-Identifier: GPL-2.0
"""The cost of text is counted right, on objects made for it."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from selftests.usercopy import text
from tools.results import store

pytestmark = pytest.mark.static
USER = ("long _copy_from_user(void *, const void *, long);\n"
        "long f(void *a) { return _copy_from_user(a, a, 8); }\n")
NO_USER = "int g(int a) { return a + 1; }\n"
MORE = ('long h(long a) { asm(".pushsection __ex_table,\\"a\\"; .quad 0; .popsection"); '
        "return a * a * a; }\n")


def objects(where: Path, sources: dict[str, str]) -> None:
    """Compile sources in a directory, to objects of these names."""
    for name, source in sources.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-O2", "-x", "c", "-c", "-o", where / name, "-"], input=source,
                       text=True, check=True)


def test_text_cost(tmp_path: Path) -> None:
    """Objects that copy are found, and an option's are larger by the sections that it adds."""
    tree, off, on = (tmp_path / name for name in ("tree", "off", "on"))
    (tree / "scripts").mkdir(parents=True)
    meter = tree / "scripts/bloat-o-meter"
    meter.write_text("#!/bin/sh\nseq 20\n")
    meter.chmod(0o755)
    sources = {"fs/user.o": USER, "fs/none.o": NO_USER, text.ALSO[0]: "int common;\n"}
    objects(off, sources)
    objects(on, {**sources, "lib/more.o": MORE})
    subprocess.run(["ar", "cDPrST", "vmlinux.a", *sources], cwd=off, check=True)
    subprocess.run(["ld", "-r", "-o", "vmlinux", *sources], cwd=off, check=True)
    found = text.copying(off)
    assert found == sorted([text.ALSO[0], "fs/user.o"])
    cell = text.cost(tree, off, on, found, ["lib/more.o"])
    assert cell["objects"] == 3 and cell["exception table"] == [8, 0]
    more, whole = cell["instructions"]
    assert 0 < more < 64 and whole > 0
    assert cell["alternatives, freed after boot"] == [0, 0]
    assert cell["bloat-o-meter"] == [str(number) for number in range(1, 11)]


def test_text_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is built when what would be counted cannot be published, or the disk is full; one
    line says so."""
    monkeypatch.setattr(text, "build", lambda *_: pytest.fail("built"))
    monkeypatch.setattr(store, "refusal", lambda _files, _tree: "not published: an edit")
    with pytest.raises(ValueError, match="not published: an edit"):
        text.count(tmp_path, tmp_path)
    monkeypatch.setattr(store, "refusal", lambda _files, _tree: "")
    monkeypatch.setattr(text, "DISK_MIB", 1 << 40)
    with pytest.raises(text.TextError, match="of disk are needed"):
        text.count(tmp_path, tmp_path)
