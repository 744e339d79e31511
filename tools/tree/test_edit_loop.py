# SPDX-License-Identifier: GPL-2.0
"""The edit loop of Documentation/contributing.rst, as it stands there, on a copy of the series."""

import re
import shutil
from pathlib import Path

import pytest

from tools import environment
from tools.environment import ROOT
from tools.checks.apply import by_quilt
from tools.tree.small_series import Builder
from tools.command import run
from tools.tree.sources import Sources
from tools.checks.findings import none
from tools.series import Patch, Series, load_series, touched

# What the test does not run: the checks and the build of what the loop made
PROVE = ("make lint", "make")
ADDED = "// a line of the edit loop"


def commands(page: str) -> list[str]:
    """Return the commands of the first block of a page, without their comments."""
    block = re.search(r"::\n\n((?: {4}.*\n)+)", page)
    assert block
    return [line.partition("  #")[0].strip() for line in block[1].splitlines()]


def middle(series: Series) -> tuple[Patch, str]:
    """Return the patch near the middle with a C file that a later patch changes, and that file."""
    half = len(series.patches) // 2
    for at, patch in sorted(enumerate(series.patches), key=lambda pair: abs(pair[0] - half)):
        later = touched(series.patches[at + 1 :])
        for diff in patch.files:
            if diff.path in later and diff.path.endswith(".c"):
                return patch, diff.path
    raise AssertionError("no such patch")


def test_edit_loop(series: Series, sources: Sources, tmp_path: Path) -> None:
    """Afterwards the series is in quilt's form again, and the line is in the patch and the tree."""
    root = ROOT
    apart = {root / ".git", root / "build", environment.build()}
    shutil.copytree(root, tmp_path, symlinks=True, dirs_exist_ok=True,
                    ignore=lambda where, names: [name for name in names
                                                 if Path(where, name) in apart])
    copied = load_series(tmp_path)
    tree = sources.copy(copied.paths, tmp_path / "build/linux")
    none(by_quilt(copied, tree))
    (tree / "scripts").mkdir(exist_ok=True)
    (tree / "scripts/checkpatch.pl").touch()  # by which a kernel tree is known
    patch, file = middle(copied)

    loop = commands((root / "Documentation/contributing.rst").read_text())
    assert loop[-2:] == list(PROVE), f"the loop does not end with {PROVE}"
    text = re.sub(r"\bPATCH\b", patch.name, " ; ".join(loop[:-2]))
    text = re.sub(r"\bFILE\b", file, text)
    editor = tmp_path / "editor"
    # The line goes above everything: each later hunk of the file moves
    editor.write_text(f'#!/bin/sh\nsed -i "1i {ADDED}" "$@"\n')
    editor.chmod(0o755)
    env = {"EDITOR": str(editor), "BUILD": str(tmp_path / "build")}
    done = run(["bash", "-c", text], tmp_path, env=env)
    changed = re.search(r"(\d+) of \d+ patches changed", done.stdout)
    assert not done.returncode and changed and int(changed[1]) > 0, done.stdout
    assert f"+{ADDED}" in (tmp_path / "patches" / patch.name).read_text()
    assert (tree / file).read_text().startswith(ADDED), done.stdout
    again = run(["make", "refresh"], tmp_path, env=env)
    assert f"0 of {len(copied.patches)} patches changed" in again.stdout, again.stdout


@pytest.mark.static
def test_refresh_does_not_apply(builder: Builder) -> None:
    """A later patch that no longer applies is named, and no patch file changes."""
    series = builder.patch("lib: Count from one").line("lib: Count on", 21).write()
    first = series.patches[0].path
    first.write_text(first.read_text().replace("+changed 20", "+moved 20"))
    before = {path: path.read_bytes() for path in builder.patches.iterdir()}
    env = {"QUEUE": str(builder.patches), "KDIR": str(builder.base)}
    words = ["python3", "-m", "tools.tree.refresh"]
    done = run(words, ROOT, env=env)
    assert done.returncode == 1 and series.patches[1].name in done.stdout, done.stdout
    assert "no patch was changed" in done.stdout
    assert {path: path.read_bytes() for path in builder.patches.iterdir()} == before
