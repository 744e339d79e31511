# SPDX-License-Identifier: GPL-2.0
"""quilt refresh would change a patch."""

from pathlib import Path

from tools.checks.findings import no_finding, some
from tools.series import Series
from tools.tree.refresh import refreshed
from tools.tree.small_series import Builder
from tools.tree.sources import Sources


def check(series: Series, sources: Sources, tmp_path: Path) -> list[str]:
    """quilt refresh after each push leaves every patch as it is: with no mode bit, no rename, no
    empty hunk and no file without one."""
    try:
        after = refreshed(series, sources, tmp_path)
    except ValueError as error:
        return [str(error)]
    return [f"{patch.name}: quilt refresh changes it; this mends it: make refresh"
            for patch in series.patches if after[patch.name] != patch.path.read_bytes()]


test_refresh_stable = no_finding(check)


def test_selftest_refresh_stable(builder: Builder, tmp_path: Path) -> None:
    subject = "lib/a: Start at one"
    mode = "diff --git a/lib/a.c b/lib/a.c\nold mode 100644\nnew mode 100755\n"
    series = builder.patch(subject).alter(subject, "--- a/lib/a.c", f"{mode}--- a/lib/a.c")
    some(check(series, builder.sources, tmp_path / "bad"), "changes it")
