# SPDX-License-Identifier: GPL-2.0
"""The patch files of the queue, and the checks of them against tiny queues."""

from __future__ import annotations

import shutil

import pytest

from selftests.queue import checks_files as checks
from selftests.queue.covers import PARTS, check_covers
from selftests.queue.fixtures import Builder
from selftests.queue.verdict import no_finding, none, some

pytestmark = pytest.mark.static

SUBJECT = "lib/a: Start at one"


codespell = pytest.mark.skipif(not shutil.which("codespell"), reason="codespell is not installed")
test_series_files = no_finding(checks.check_series_files)
test_covers = no_finding(check_covers)
test_headers_complete = no_finding(checks.check_headers_complete)
test_no_signed_off = no_finding(checks.check_no_signed_off)
test_no_empty_diffs = no_finding(checks.check_no_empty_diffs)
test_mode_bits = no_finding(checks.check_mode_bits)
test_spelling = codespell(no_finding(checks.check_spelling))


def test_selftest_parser(builder: Builder) -> None:
    queue = builder.edit(SUBJECT, {"lib/a.c": "one\n", "lib/b.c": "x\n--- y\n"}).write()
    (patch,) = queue.patches
    assert [diff.path for diff in patch.files] == ["lib/a.c", "lib/b.c"]
    assert [diff.new for diff in patch.files] == [False, True]
    assert patch.files[1].added == ["x", "--- y"]
    assert patch.header("From").startswith("Ann")
    with pytest.raises(ValueError, match="cut short"):
        builder.alter(SUBJECT, "+x\n+--- y\n", "+x\n")


def test_selftest_series_files(builder: Builder) -> None:
    builder.patch(SUBJECT).series.append(checks.GATE)
    none(checks.check_series_files(builder.write()))
    (builder.patches / "stray.patch").write_text("")
    builder.series += ["gone.patch", builder.series[1]]
    builder.group("usercopy").group("immediate", "nonsense").group("usercopy")
    found = checks.check_series_files(builder.write())
    some(found, "stray.patch: not in series", "gone.patch: in series", "more than once")
    some(found, "usercopy more than once", "needs 'nonsense': 0 earlier patches")
    (builder.patches / "series").unlink()
    (builder.patches / "series").write_text("")
    some(checks.check_series_files(builder.write()), "not a symlink")
    builder.series = []
    some(checks.check_series_files(builder.write()), "names no patch")


def test_selftest_covers(builder: Builder) -> None:
    """A set that is not complete, a patch in no set or in two, and long lines are found."""
    queue = builder.patch(SUBJECT).edit("lib/b: Add it", {"lib/b.c": "x\n"}).write()
    some(check_covers(queue), "lib-a-start-at-one.patch: in 0 sets")
    whole = "Subject: A set\nTo: a@example.org\nPatches: lib-a lib-b\n\nWhy.\n\n"
    whole += "\n".join(PARTS) + "\n"
    (builder.patches / "both.cover").write_text(whole)
    none(check_covers(queue))
    (builder.patches / "both.cover").write_text(whole.replace("Test:", "x" * 73))
    (builder.patches / "one.cover").write_text(whole.replace("lib-a lib-b", "lib-b lib-a"))
    some(check_covers(queue), "lib-b-add-it.patch: in 2 sets", "both.cover: no 'Test:'",
         "both.cover:7: 73 columns", "one.cover: not in the order")
    (builder.patches / "one.cover").write_text("Patches: lib-c\n")
    some(check_covers(queue), "one.cover: 'lib-c': 0 patches")


def test_selftest_series_gate(builder: Builder) -> None:
    builder.group("immediate").patch(SUBJECT)
    builder.group("empty")
    none(checks.check_series_files(builder.write()))
    builder.series.pop(1)
    some(checks.check_series_files(builder.write()), "series: 0 lines '# --- gated")
    builder.series[:1] = [checks.GATE, "# --- group: immediate ---", "# needs:"]
    found = checks.check_series_files(builder.write())
    some(found, "malformed: # --- group: immediate", "malformed: # needs:")
    builder.series.insert(1, builder.series[-2])
    some(checks.check_series_files(builder.write()), "lib-a-start-at-one.patch: in no group")


@pytest.mark.parametrize(("old", "new", "expected"), [
    ("From: ", "X-From: ", "first lines"),
    ("<ann@example.org>", "ann", "From: is not"),
    ("Mon, 2 Nov", "someday", "Date:"),
    ("lib/a: Start", "Start", "Subject: is not"),
    ("Start at", "Starts at", "imperative"),
    ("Start at", "start at", "capital"),
    ("at one\n\n", "at one.\n\n", "full stop"),
    ("A counter", "This patch: a counter", "this patch"),
    ("Patch-mainline:", "Status:", "Patch-mainline"),
    ("1 files changed", "one file", "diffstat"),
    ("A counter starts at zero, which nobody wants.\n\nStart it at one.", "", "no changelog"),
])
def test_selftest_headers_complete(builder: Builder, old: str, new: str, expected: str) -> None:
    none(checks.check_headers_complete(builder.patch(SUBJECT).write()))
    some(checks.check_headers_complete(builder.alter(SUBJECT, old, new)), expected)


def test_selftest_no_empty_diffs(builder: Builder) -> None:
    none(checks.check_no_empty_diffs(builder.patch(SUBJECT).write()))
    queue = builder.alter(SUBJECT, "-line 20\n+changed 20\n", " line 20\n")
    some(checks.check_no_empty_diffs(queue), "an empty hunk")
    builder.patches.joinpath(queue.names[0]).write_text("From: a\n\nb\n---\n")
    some(checks.check_no_empty_diffs(builder.write()), "no diff")
    builder.edit("lib/b: Add it", {"lib/b.c": "x\n"})
    queue = builder.alter("lib/b: Add it", "--- a/", "diff --git a/c b/c\n--- a/")
    none([line for line in checks.check_no_empty_diffs(queue) if "lib-b" in line])
    queue = builder.alter("lib/b: Add it", "diff --git", "diff --git a/d b/d\ndiff --git")
    some(checks.check_no_empty_diffs(queue), "a file without hunks")
