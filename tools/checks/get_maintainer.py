# SPDX-License-Identifier: GPL-2.0
"""get_maintainer.pl finds nobody for a patch, besides the lists that get everything."""

import re
from dataclasses import replace
from pathlib import Path

from tools.checks.findings import no_finding, some
from tools.checks.scripts import run_on
from tools.command import each
from tools.series import Patch, Series
from tools.tree.small_series import Builder

NOBODY = re.compile(r"THE REST|\(open list\)$")


def check(series: Series, kernel: Path, final: Path) -> list[str]:
    """get_maintainer.pl finds someone, besides the lists that get everything.

    Files that MAINTAINERS gives to nobody (include/linux/uaccess.h is one)
    need a Cc: in the patch.

    Args: the series, the kernel tree, the touched files after the series (for
    MAINTAINERS).
    """
    words = ["perl", "scripts/get_maintainer.pl", "--no-git", "--no-git-fallback", "--roles"]
    words += ["--no-keywords"]
    entries = final / "MAINTAINERS"
    if entries.is_file():
        words.append(f"--mpath={entries}")
    else:
        entries = kernel / "MAINTAINERS"
    # The path of a scratch copy is no part of the key, its text is.
    known = entries.read_text(errors="replace")

    def one(patch: Patch) -> list[str]:
        # The answer depends on the files alone: another changelog gets the one that was stored
        files = replace(patch, text=" ".join(diff.path for diff in patch.files))
        ((_, output, passed),) = run_on(words, [files], kernel, known)
        people = [line for line in output.splitlines() if "@" in line]
        if any(not NOBODY.search(line) for line in people):
            passed()
            return []
        if re.search(r"^Cc: .+ <\S+@\S+>$", patch.body, re.M):
            return []
        return [f"{patch.name}: get_maintainer finds nobody"]

    return each(one, series.patches)


test_get_maintainer = no_finding(check)


def test_selftest_get_maintainer(builder: Builder, kernel: Path) -> None:
    builder.edit("nowhere: Count", {"nowhere/at/all.txt": "1\n"})
    some(check(builder.write(), kernel, builder.base),
         "nowhere-count.patch: ")
