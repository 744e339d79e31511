# SPDX-License-Identifier: GPL-2.0
"""The queue applies, in each way, and the checks of that against tiny queues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools.queue import checks_apply as checks
from tools.queue.fixtures import Builder
from tools.queue.mover import States
from tools.queue.scratch import Sources
from tools.queue.verdict import no_finding, none, some
from tools.series import Queue

pytestmark = pytest.mark.static

SUBJECT = "lib/a: Start at one"


@pytest.fixture(scope="module")
def states(queue: Queue, sources: Sources, tmp_path_factory) -> States:
    """The states of the queue by git apply."""
    return States(queue, sources, tmp_path_factory.mktemp("apply") / "repo")


def way_applies(way: str) -> Callable[[Queue, States, Path], None]:
    """Return the test of one way."""
    return lambda queue, states, tmp_path: none(checks.check_apply(queue, states, way, tmp_path))


test_apply_quilt = way_applies("quilt")
test_apply_patch = way_applies("patch")
test_apply_git_am = way_applies("git_am")
test_apply_quiltimport = way_applies("quiltimport")
test_refresh_stable = no_finding(checks.check_refresh_stable)
test_groups_needs = no_finding(checks.check_groups_needs)


def test_selftest_apply(builder: Builder, tmp_path: Path) -> None:
    good = States(builder.patch(SUBJECT).write(), builder.sources, tmp_path / "good")
    # A context line that is not in the base: patch would need fuzz.
    # git quiltimport takes less context.
    queue = builder.alter(SUBJECT, " line 17\n", " line seventeen\n")
    for way in ("quilt", "patch", "git_am"):
        some(checks.check_apply(queue, good, way, tmp_path), SUBJECT.split()[-1])
    queue = builder.alter(SUBJECT, "+changed 20", "+of another tree")
    some(checks.check_apply(queue, good, "quiltimport", tmp_path), "different trees")


def test_selftest_refresh_stable(builder: Builder, tmp_path: Path) -> None:
    mode = "diff --git a/lib/a.c b/lib/a.c\nold mode 100644\nnew mode 100755\n"
    queue = builder.patch(SUBJECT).alter(SUBJECT, "--- a/lib/a.c", f"{mode}--- a/lib/a.c")
    some(checks.check_refresh_stable(queue, builder.sources, tmp_path / "bad"), "changes it")


def test_selftest_groups_needs(builder: Builder, tmp_path: Path) -> None:
    builder.patch(SUBJECT).edit("lib/b: Add it", {"lib/b.c": "x\n"})
    builder.group("immediate", "lib-b").line("lib: Do this", 21)
    builder.group("usercopy", "lib-b").line("lib: Do that", 5)
    found = checks.check_groups_needs(builder.write(), builder.sources, tmp_path)
    some(found, "group immediate with what it needs: git am")
    some(found, "group usercopy applies without lib-b-add-it.patch")
