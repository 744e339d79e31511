# SPDX-License-Identifier: GPL-2.0
"""shellcheck has something to say about a script."""

import shutil
from pathlib import Path

import pytest

from tools.checks.findings import no_finding
from tools.command import run

pytestmark = pytest.mark.skipif(not shutil.which("shellcheck"),
                                reason="shellcheck is not installed")


def check(root: Path) -> list[str]:
    """shellcheck has nothing to say about the shell scripts in tools/ and .ci/run."""
    scripts = [*sorted((root / "tools").rglob("*.sh")), root / ".ci/run"]
    done = run(["shellcheck", "-x", "-f", "gcc", *scripts], root)
    lines = [line.replace(f"{root}/", "") for line in done.stdout.splitlines() if line.strip()]
    return lines or ([f"shellcheck: status {done.returncode}"] if done.returncode else [])


test_shellcheck = no_finding(check)
