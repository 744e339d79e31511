# SPDX-License-Identifier: GPL-2.0
"""make rebase-report on trees of another version: a patch applies, with an offset or fuzz, merges,
or fails."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.environment import ROOT
from tools.tree.small_series import LINES, MAKEFILE, Builder, write_files

SUBJECT = "lib/a: Start at one"
OTHER = {"Makefile": MAKEFILE.format(7, 4, 0), "arch/Kconfig": "#\n"}
pytestmark = pytest.mark.robust


def report(builder: Builder, tree: Path) -> subprocess.CompletedProcess[str]:
    """Run the report on a tree; the build directory has the base."""
    build = builder.root / "build"
    build.mkdir()
    (build / "linux").symlink_to(builder.base)
    return subprocess.run([sys.executable, "-B", "-m", "tools.tree.rebase"], cwd=ROOT,
                          check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=os.environ | {"KDIR": str(tree), "QUEUE": str(builder.patches),
                                            "BUILD": str(build)})


@pytest.mark.parametrize(("old", "new", "kind", "code"), [
    ("line 1\n", "line 1\n", "1 apply", 0),
    ("line 1\n", "line 0\nline 1\n", "1 with an offset", 0),
    ("line 17\n", "line seventeen\n", "1 with fuzz", 0),
    ("line 19\n", "line nineteen\n", "1 fail", 1),
    ("line 20\n", "line twenty\n", "1 fail", 1),
])
def test_rebase_report(tmp_path: Path, old: str, new: str, kind: str, code: int) -> None:
    """The patch changes line 20; the tree has another line somewhere, and stays as it is."""
    builder = Builder(tmp_path / "queue").patch(SUBJECT)
    builder.write()
    files = {**OTHER, "lib/a.c": LINES.replace(old, new)}
    tree = write_files(tmp_path / "linux", files)
    said = report(builder, tree)
    assert (said.returncode == code
            and f"preparations: {kind}\n" in said.stdout), said.stdout + said.stderr
    assert (tree / "lib/a.c").read_text() == files["lib/a.c"]


def test_rebase_merges(tmp_path: Path) -> None:
    """A hunk whose middle was changed between the versions merges, as it does for git."""
    builder = Builder(tmp_path / "queue")
    builder.edit(SUBJECT, {"lib/a.c": LINES.replace("line 20\n", "changed 20\n")
                           .replace("line 24\n", "changed 24\n")})
    builder.write()
    tree = write_files(tmp_path / "linux", {
        **OTHER, "lib/a.c": LINES.replace("line 22\n", "line twenty-two\n")})
    said = report(builder, tree)
    assert (said.returncode == 0
            and "preparations: 1 merge\n" in said.stdout), said.stdout + said.stderr


def test_rebase_refuses(tmp_path: Path) -> None:
    """No tree: one line."""
    builder = Builder(tmp_path / "queue").patch(SUBJECT)
    builder.write()
    said = report(builder, tmp_path)
    assert (said.returncode == 1 and said.stderr
            == f"rebase-report: error: {tmp_path} is not a Linux source tree\n")
