# SPDX-License-Identifier: GPL-2.0
"""A file names the path or the host of a machine, or a package host."""

import os
import re
from pathlib import Path

from tools.checks.findings import no_finding
from tools.checks.repository import is_text

MACHINE = re.compile(
    r"(?:^|[\s\"'=(:])(/(?:root|work)/[\w.]|/home/(?!user\b)\w+/|/tmp/\w+/)"
    r"|\b(?:deb|ftp|security)\.debian\.org\b|\b(?:pypi|files\.pythonhosted)\.org\b"
)


def check(root: Path, repository: list[Path]) -> list[str]:
    """No file names a machine's own path, its host name or a package host."""
    host = os.uname().nodename
    name = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w.-])" if len(host) > 8 else r"(?!)")
    findings: list[str] = []
    for path in repository:
        if not is_text(path) or path.name == "COPYING" or path == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if match := MACHINE.search(line) or name.search(line):
                findings.append(f"{path.relative_to(root)}:{number}: '{match[0].strip()}'")
    return findings


test_no_machine = no_finding(check)
