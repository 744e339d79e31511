# SPDX-License-Identifier: GPL-2.0
"""A line ends in blanks, or a file without a newline."""

from pathlib import Path

from tools.checks.findings import no_finding
from tools.checks.repository import is_text
from tools.command import run


def check(root: Path, repository: list[Path]) -> list[str]:
    """No trailing blanks, and a newline at the end; patches have their own rules."""
    words = "git grep --untracked -nIE [[:blank:]]+$ -- . :!*.patch".split()
    findings = [f"{line}: trailing whitespace" for line in run(words, root).stdout.splitlines()]
    return findings + [f"{path.relative_to(root)}: no newline at the end" for path in repository
                       if is_text(path) and path.read_bytes()[-1:] not in (b"", b"\n")]


test_whitespace = no_finding(check)
