# SPDX-License-Identifier: GPL-2.0
"""The queue applies, in each way, and the checks of that against tiny queues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from selftests.queue import checks_apply as checks
from selftests.queue.fixtures import LINES, Builder, change
from selftests.queue.patchqueue import Queue
from selftests.queue.scratch import Sources
from selftests.queue.verdict import no_finding, none, some

pytestmark = pytest.mark.static

SUBJECT = "lib/a: Start at one"


@pytest.fixture(scope="module")
def applied(queue: Queue, sources: Sources, tmp_path_factory) -> dict[str, checks.Applied]:
    """The queue applied in the four ways."""
    return checks.apply_all(queue, sources, tmp_path_factory.mktemp("apply"))


def way_applies(way: str) -> Callable[[dict[str, checks.Applied]], None]:
    """Return the test of one way."""
    return lambda applied: none(checks.check_apply(applied, way))


test_apply_quilt = way_applies("quilt")
test_apply_patch = way_applies("patch")
test_apply_git_am = way_applies("git_am")
test_apply_quiltimport = way_applies("quiltimport")
test_refresh_stable = no_finding(checks.check_refresh_stable)
test_groups_apply = no_finding(checks.check_groups_apply)
test_groups_needs = no_finding(checks.check_groups_needs)


@pytest.mark.parametrize("way", list(checks.WAYS))
def test_selftest_apply(builder: Builder, tmp_path: Path, way: str) -> None:
    builder.patch(SUBJECT).edit("lib/b: Add it", {"lib/b.c": "x\n", "lib/a.c": LINES})
    good = checks.apply_all(builder.write(), builder.sources, tmp_path / "good")
    none(checks.check_apply(good, way))
    assert len({result.tree for result in good.values()}) == 1
    # A context line that is not in the base: patch would need fuzz.
    queue = builder.alter(SUBJECT, " line 17\n", " line seventeen\n")
    bad = checks.apply_all(queue, builder.sources, tmp_path / "bad")
    if way == "quiltimport":
        # git quiltimport takes less context; the other three say it.
        assert bad["quilt"].findings and bad["patch"].findings and bad["git_am"].findings
        queue = builder.alter(SUBJECT, "-line 20\n", "-line twenty\n")
        bad = checks.apply_all(queue, builder.sources, tmp_path / "worse")
    some(checks.check_apply(bad, way), SUBJECT.split()[-1])


def test_selftest_apply_mode(builder: Builder, tmp_path: Path) -> None:
    builder.edit("lib/b: Add it", {"lib/b.sh": "x\n"})
    mode = "diff --git a/lib/b.sh b/lib/b.sh\nnew file mode 100755\n--- /dev/null"
    queue = builder.alter("lib/b: Add it", "--- a/lib/b.sh", mode)
    results = checks.apply_all(queue, builder.sources, tmp_path / "mode")
    trees = {way: checks.Applied([], result.tree) for way, result in results.items()}
    trees["patch"] = checks.Applied([], "0" * 40)
    some(checks.check_apply(trees, "quilt"), "different trees")


def test_selftest_refresh_stable(builder: Builder, tmp_path: Path) -> None:
    builder.patch(SUBJECT).edit("lib/b: Add it", {"lib/b.c": "x\n"})
    queue = builder.canonical()
    none(checks.check_refresh_stable(queue, builder.sources, tmp_path / "good"))
    queue = builder.alter(SUBJECT, "--- a/lib/a.c", "Index: a/lib/a.c\n--- a/lib/a.c")
    some(checks.check_refresh_stable(queue, builder.sources, tmp_path / "bad"), "changes it")
    (builder.repo / "scripts/quiltrc").unlink(missing_ok=True)
    some(checks.check_refresh_stable(queue, builder.sources, tmp_path / "rc"), "quiltrc is missing")


def test_selftest_groups_apply(builder: Builder, tmp_path: Path) -> None:
    builder.patch(SUBJECT)
    builder.group("immediate").line("lib: Do this", 5)
    builder.group("usercopy").line("lib: Do that", 12)
    builder.group("both", "immediate usercopy").line("lib: Do both", 6)
    none(checks.check_groups_apply(builder.write(), builder.sources, tmp_path))


def test_selftest_groups_needs(builder: Builder, tmp_path: Path) -> None:
    builder.patch(SUBJECT).edit("lib/b: Add it", {"lib/b.c": "x\n"})
    builder.group("immediate", "lib-a-start").line("lib: Do this", 21)
    builder.group("usercopy", "lib-b (for a reason)").line("lib: Do that", 5)
    builder.group("both", "immediate usercopy").line("lib: Do both", 6)
    queue = builder.write()
    none(checks.check_groups_needs(queue, builder.sources, tmp_path / "good"))
    names = {"": queue.names, "immediate": [queue.names[at] for at in (0, 2)],
             "usercopy immediate": queue.names, "preparations": queue.names[:2]}
    for groups, expected in names.items():
        assert [patch.name for patch in queue.choose(groups.split())] == expected
    with pytest.raises(ValueError, match='immediate usercopy: GROUP="immediate usercopy"'):
        queue.choose(["both", "usercopy"])
    with pytest.raises(ValueError, match="no group 'b'"):
        queue.choose(["b"])
    series = "\n".join(builder.series).replace("lib-a-start\n", "lib-b\n")
    builder.series = series.replace(" (for a reason)", "").splitlines()
    found = checks.check_groups_needs(builder.write(), builder.sources, tmp_path / "bad")
    some(found, "group immediate with what it needs: git am")
    some(found, "group usercopy applies without lib-b-add-it.patch")
    builder.series += ["# --- group late: an example ---", "# needs: lib"]
    with pytest.raises(ValueError, match="group late needs 'lib': 5 earlier patches begin so"):
        builder.write().choose(["late"])


def test_selftest_groups_touch(builder: Builder, tmp_path: Path) -> None:
    builder.group("immediate").line("lib: Do this", 5)
    builder.tree["lib/a.c"] = LINES
    builder.group("usercopy").line("lib: Do that", 11)
    found = checks.check_groups_apply(builder.write(), builder.sources, tmp_path)
    some(found, "groups immediate and usercopy touch at line 8")


def test_selftest_groups_need(builder: Builder, tmp_path: Path) -> None:
    builder.group("immediate").edit("lib: Do this", {"lib/a.c": change(LINES, 5), "lib/n.c": "n\n"})
    builder.group("usercopy").line("lib: Do that", 8)
    found = checks.check_groups_apply(builder.write(), builder.sources, tmp_path / "need")
    some(found, "group usercopy without the others")
    builder.tree.pop("lib/n.c")
    builder.group("colouring").edit("lib: Add n too", {"lib/n.c": "m\n"})
    found = checks.check_groups_apply(builder.write(), builder.sources, tmp_path / "both")
    some(found, "immediate and colouring both add lib/n.c")
