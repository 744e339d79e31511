# SPDX-License-Identifier: GPL-2.0
"""checkpatch.pl --strict finds what is not waived, or a waiver is for nothing."""

import re
from collections.abc import Callable
from pathlib import Path

from tools import environment
from tools.checks.findings import no_finding, some
from tools.checks.scripts import run_on
from tools.checks.waivers import WAIVERS, Waiver, read_waivers
from tools.command import each
from tools.series import Patch, Series
from tools.tree.small_series import Builder

CHECKPATCH_LINE = re.compile(
    r"^(?:\S+?:\d+: |)(?P<level>ERROR|WARNING|CHECK):(?P<type>[A-Z0-9_]+): (?P<text>.*)$"
)


def check(series: Series, kernel: Path, waivers: Path = WAIVERS) -> list[str]:
    """checkpatch.pl --strict finds nothing but what is waived, and all waivers are used.

    Most of its time, it asks get_maintainer.pl for each file; a run with many patches asks once.
    Args: the series, the kernel tree, the waiver file.
    """
    known, findings = read_waivers(waivers)
    used: set[Waiver] = set()
    words = ["perl", "scripts/checkpatch.pl", "--strict", "--no-signoff"]
    words += ["--terse", "--show-types", "--no-summary"]
    # The base is a tarball without history: no commit is known to it.
    words += ["--ignore", "UNKNOWN_COMMIT_ID"]
    tool = (kernel / "scripts/checkpatch.pl").read_text(errors="replace")

    def judge(patch: Patch, output: str, passed: Callable[[], None]) -> list[str]:
        found: list[str] = []
        for match in filter(None, map(CHECKPATCH_LINE.match, output.splitlines())):
            cover = [waiver for waiver in known if waiver.covers(patch, match["type"])]
            used.update(cover)
            if not cover:
                found.append(f"{patch.name}: {match['level']}:{match['type']}: {match['text']}")
        if not found:
            passed()
        return found

    # Patches that follow each other change the same files
    jobs = environment.jobs()
    ends = [len(series.patches) * part // jobs for part in range(jobs + 1)]
    parts = [series.patches[start:end] for start, end in zip(ends, ends[1:])]
    findings += each(lambda part: [line for one in run_on(words, part, kernel, tool)
                                   for line in judge(*one)], parts)
    for waiver in known:
        if waiver not in used:
            findings.append(f"{waivers.name}: unused: {waiver.patch} {waiver.type}")
    return findings


test_checkpatch = no_finding(check)


def test_selftest_checkpatch(builder: Builder, kernel: Path, tmp_path: Path) -> None:
    text = "// SPDX-License-Identifier: GPL-2.0\nint one(void)\n{\n\treturn 1;\n}\n"
    waivers = tmp_path / "waivers"
    waivers.write_text("# why\n* CODE_INDENT spaces here\n"
                       "other.patch CODE_INDENT not there\n* LONG_LINE\n")
    subject = "lib: Count from one"
    builder.edit(subject, {"MAINTAINERS": "X\nF:\tlib/one.c\n", "lib/one.c": text})
    series = builder.alter(subject, "+\treturn 1;", "+        return 1;  ")
    found = check(series, kernel, waivers)
    some(found, "TRAILING_WHITESPACE", "unused: other.patch CODE_INDENT",
         "no reason: '* LONG_LINE'")
    assert not any("ERROR:CODE_INDENT" in line for line in found)
