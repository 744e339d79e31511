# SPDX-License-Identifier: GPL-2.0
"""Running other programs: one wrapper, an environment without surprises."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tools import environment

Item = TypeVar("Item")
# The user's quilt and git settings must not decide what a check finds
IGNORED = ("QUILT_", "GIT_", "LC_", "MAKEFLAGS", "MFLAGS", "KVM")
SET = {"LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
SET |= {f"GIT_{role}_NAME": "Queue Check" for role in ("AUTHOR", "COMMITTER")}
SET |= {f"GIT_{role}_EMAIL": "queue@localhost" for role in ("AUTHOR", "COMMITTER")}


def run(cmd: Sequence[str | Path], cwd: Path | None = None, stdin: str = "",
        env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program; stdout and stderr come back in one string, stdout.

    Args: the command, its directory, its input, additions to the environment.
    Returns the finished process, whatever its status.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(IGNORED)}
    return subprocess.run([str(word) for word in cmd], cwd=cwd, input=stdin, text=True,
                          env=kept | SET | (env or {}), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", check=False)


def must(cmd: Sequence[str | Path], cwd: Path | None = None, stdin: str = "") -> str:
    """Run a program that has to succeed and return its output.

    Raises RuntimeError with the command and its last lines otherwise.
    """
    done = run(cmd, cwd, stdin)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, cmd))}: {last_lines(done.stdout)}")
    return done.stdout


def last_lines(text: str, count: int = 3) -> str:
    """Return the last lines that are not empty, joined by ' | '."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-count:])


def jobs() -> int:
    """Return how many programs may run at a time."""
    return environment.jobs()


def each(check: Callable[[Item], list[str]], items: Iterable[Item]) -> list[str]:
    """Run a check on every item, several at a time; findings keep the order."""
    with ThreadPoolExecutor(jobs()) as pool:
        return [line for found in pool.map(check, items) for line in found]
