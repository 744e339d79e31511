# SPDX-License-Identifier: GPL-2.0
"""A name is undefined, or imported or assigned for nothing."""

import sys
from pathlib import Path

from tools.checks.findings import no_finding
from tools.command import run


def check(root: Path) -> list[str]:
    """pyflakes finds no name that is undefined, imported or assigned for nothing."""
    done = run([sys.executable, "-m", "pyflakes", root / "tools", root / "selftests"], root)
    lines = [line.replace(f"{root}/", "") for line in done.stdout.splitlines()]
    return lines or ([f"pyflakes: {done.stderr}"] if done.returncode else [])


test_pyflakes = no_finding(check)
