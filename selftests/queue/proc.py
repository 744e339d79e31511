# SPDX-License-Identifier: GPL-2.0
"""Running other programs: one wrapper, an environment without surprises."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")


def clean_env(extra: dict[str, str] | None = None) -> dict[str, str]:
    """Return the environment for child programs.

    The user's quilt and git settings must not decide what a check finds, and
    messages must be those of the C locale.
    """
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("QUILT_", "GIT_", "LC_", "MAKEFLAGS", "MFLAGS"))
    }
    env.update(
        LC_ALL="C.UTF-8",
        GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_AUTHOR_NAME="Queue Check",
        GIT_AUTHOR_EMAIL="queue@localhost",
        GIT_COMMITTER_NAME="Queue Check",
        GIT_COMMITTER_EMAIL="queue@localhost",
    )
    env.update(extra or {})
    return env


def run(
    cmd: Sequence[str | Path],
    cwd: Path | None = None,
    stdin: str = "",
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program; stdout and stderr come back in one string, stdout.

    Args: the command, its directory, its input, additions to the environment.
    Returns the finished process, whatever its status.
    """
    return subprocess.run(
        [str(word) for word in cmd],
        cwd=cwd,
        input=stdin,
        env=clean_env(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def must(cmd: Sequence[str | Path], cwd: Path | None = None, stdin: str = "") -> str:
    """Run a program that has to succeed and return its output.

    Raises RuntimeError with the command and its last lines otherwise.
    """
    done = run(cmd, cwd, stdin)
    if done.returncode:
        text = " ".join(map(str, cmd))
        raise RuntimeError(f"{text}: {last_lines(done.stdout)}")
    return done.stdout


def last_lines(text: str, count: int = 3) -> str:
    """Return the last lines that are not empty, joined by ' | '."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-count:])


def jobs() -> int:
    """Return how many programs may run at a time."""
    return int(os.environ.get("CF_JOBS") or os.cpu_count() or 1)


def each(check: Callable[[Item], list[str]], items: Iterable[Item]) -> list[str]:
    """Run a check on every item, several at a time; findings keep the order."""
    with ThreadPoolExecutor(jobs()) as pool:
        return [line for found in pool.map(check, items) for line in found]
