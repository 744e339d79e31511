# SPDX-License-Identifier: GPL-2.0
"""The patch files of the queue, and the checks of them against tiny queues."""

from __future__ import annotations

import shutil

import pytest

from tools.queue import checks_files as checks
from tools.queue.covers import PARTS, check_covers
from tools.queue.fixtures import Builder
from tools.queue.verdict import no_finding, some

pytestmark = pytest.mark.static

SUBJECT = "lib/a: Start at one"


codespell = pytest.mark.skipif(not shutil.which("codespell"), reason="codespell is not installed")
test_series_files = no_finding(checks.check_series_files)
test_covers = no_finding(check_covers)
test_headers_complete = no_finding(checks.check_headers_complete)
test_no_signed_off = no_finding(checks.check_no_signed_off)
test_spelling = codespell(no_finding(checks.check_spelling))


def test_selftest_parser(builder: Builder) -> None:
    queue = builder.edit(SUBJECT, {"lib/a.c": "one\n", "lib/b.c": "x\n--- y\n"}).write()
    (patch,) = queue.patches
    assert [diff.path for diff in patch.files] == ["lib/a.c", "lib/b.c"]
    assert patch.files[1].added == ["x", "--- y"]
    assert patch.header("From").startswith("Ann")
    with pytest.raises(ValueError, match="cut short"):
        builder.alter(SUBJECT, "+x\n+--- y\n", "+x\n")


def test_selftest_series_files(builder: Builder) -> None:
    (builder.patches / "stray.patch").write_text("")
    builder.patch(SUBJECT).series += ["gone.patch", builder.series[-1],
                                      "# --- group: immediate ---"]
    builder.group("usercopy").group("immediate", "nonsense").group("usercopy").series.append(
        checks.GATE)
    (builder.patches / "series").unlink()
    found = checks.check_series_files(builder.write())
    some(found, "stray.patch: not in series", "gone.patch: in series", "more than once",
         "not a symlink")
    some(found, "usercopy more than once", "needs 'nonsense': 0 earlier patches",
         "series: 2 lines '# --- gated", "malformed: # --- group: immediate")


def test_selftest_covers(builder: Builder) -> None:
    """A set that is not complete, a patch in no set or in two, and long lines are found."""
    queue = builder.patch(SUBJECT).edit("lib/b: Add it", {"lib/b.c": "x\n"}).write()
    some(check_covers(queue), "lib-a-start-at-one.patch: in 0 sets")
    whole = "Subject: A set\nPatches: lib-b lib-a\n\n" + "\n".join(PARTS[1:]) + "\n" + "x" * 73
    for name in ("one", "two"):
        (builder.patches / f"{name}.cover").write_text(whole)
    some(check_covers(queue), "lib-b-add-it.patch: in 2 sets", "one.cover: no To",
         "one.cover: no 'Test:'", "one.cover:7: 73 columns", "one.cover: not in the order")


def test_selftest_headers_complete(builder: Builder) -> None:
    queue = builder.patch(SUBJECT).alter(SUBJECT, "Start at one\n\n", "starts at one.\n\n")
    some(checks.check_headers_complete(queue), "capital", "imperative", "full stop")
    queue = builder.alter(SUBJECT, "Patch-mainline:", "Status:")
    some(checks.check_headers_complete(queue), "Patch-mainline")
    queue = builder.alter(SUBJECT, "Test:", "Tried:")
    some(checks.check_headers_complete(queue), "no Test: line")
