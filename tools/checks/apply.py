# SPDX-License-Identifier: GPL-2.0
"""A way of applying the series fails, needs fuzz or gives another tree."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.checks.findings import none, some
from tools.command import last_lines, must, run
from tools.series import Series
from tools.tree.refresh import quilt
from tools.tree.small_series import Builder
from tools.tree.state import States, add_all

pytestmark = pytest.mark.static
PATCH = "patch -p1 -F0 -E -s -f --no-backup-if-mismatch -i".split()


def by_quilt(series: Series, repo: Path) -> list[str]:
    """Push everything with quilt, without fuzz."""
    done = quilt(series, repo, "push", "-a", "--fuzz=0")
    return [f"quilt push -a: {last_lines(done.stdout)}"] if done.returncode else []


def by_patch(series: Series, repo: Path) -> list[str]:
    """Apply each patch with patch, without fuzz, and stop at the first that fails."""
    for patch in series.patches:
        done = run([*PATCH, patch.path], repo)
        if done.returncode:
            return [f"{patch.name}: patch -F0: {last_lines(done.stdout)}"]
    return []


def by_git_am(series: Series, repo: Path) -> list[str]:
    """Apply the series as mails."""
    done = run(["git", "am", "-q", *(patch.path for patch in series.patches)], repo)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("hint:")]
    return ["git am: " + last_lines("\n".join(lines[:3]))] if done.returncode else []


def by_quiltimport(series: Series, repo: Path) -> list[str]:
    """Import the series with git quiltimport."""
    words = ["git", "quiltimport", "--patches", series.directory,
             "--series", series.root / "series"]
    done = run(words, repo)
    return [f"git quiltimport: {last_lines(done.stdout)}"] if done.returncode else []


WAYS = {"quilt": by_quilt, "patch": by_patch, "git_am": by_git_am, "quiltimport": by_quiltimport}


def check(series: Series, states: States, way: str, scratch: Path) -> list[str]:
    """One way applies in a copy of the base below scratch, and its tree is that of git apply."""
    repo = shutil.copytree(states.check_out(0), scratch / way, symlinks=True)
    must(["git", "update-index", "-q", "--refresh"], repo)
    findings = WAYS[way](series, repo)
    if not findings and add_all(repo) != states.trees[-1]:
        findings = [f"{way} and git apply give different trees"]
    return findings


def way_applies(way: str) -> Callable[[Series, States, Path], None]:
    """Return the test of one way."""
    return lambda series, states, tmp_path: none(check(series, states, way, tmp_path))


test_apply_quilt = way_applies("quilt")
test_apply_patch = way_applies("patch")
test_apply_git_am = way_applies("git_am")
test_apply_quiltimport = way_applies("quiltimport")


def test_selftest_apply(builder: Builder, tmp_path: Path) -> None:
    subject = "lib/a: Start at one"
    good = States(builder.patch(subject).write(), builder.sources, tmp_path / "good")
    # A context line that is not in the base: patch would need fuzz.
    # git quiltimport takes less context.
    series = builder.alter(subject, " line 17\n", " line seventeen\n")
    for way in ("quilt", "patch", "git_am"):
        some(check(series, good, way, tmp_path), subject.split()[-1])
    series = builder.alter(subject, "+changed 20", "+of another tree")
    some(check(series, good, "quiltimport", tmp_path), "different trees")
