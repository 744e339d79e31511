# SPDX-License-Identifier: GPL-2.0
"""How a command runs other programs, says what it did, and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tools import environment

Item = TypeVar("Item")
SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
# The user's quilt and git settings must not decide what a check finds
IGNORED = ("QUILT_", "GIT_", "LC_", "MAKEFLAGS", "MFLAGS", "KVM", "POSIXLY_CORRECT")
# Of these, what says in a user's own repository who commits
USERS = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG")
SET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
SET |= {f"GIT_{role}_NAME": "Series Check" for role in ("AUTHOR", "COMMITTER")}
SET |= {f"GIT_{role}_EMAIL": "series@localhost" for role in ("AUTHOR", "COMMITTER")}


class Stop(RuntimeError):
    """The one line that says why nothing more is done."""


def run(cmd: Sequence[object], cwd: Path | None = None, stdin: str = "",
        env: dict[str, str] | None = None, *, user: bool = False,
        pass_fds: Sequence[int] = ()) -> subprocess.CompletedProcess[str]:
    """Run a program; stdout and stderr come back in one string, stdout.

    Args: the command, its directory, its input, additions to the environment; user: with the user's
    own git settings; pass_fds: open files that it inherits.
    Returns the finished process, whatever its status. Raises OSError.
    """
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(IGNORED) or user and name.startswith(USERS)}
    own = {"LC_ALL": "C.UTF-8"} | ({} if user else SET)
    return subprocess.run([str(word) for word in cmd], cwd=cwd, input=stdin, text=True,
                          env=clean | own | (env or {}), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", check=False,
                          pass_fds=pass_fds)


def must(cmd: Sequence[object], cwd: Path | None = None, stdin: str = "",
         env: dict[str, str] | None = None, *, user: bool = False) -> str:
    """Run a program that has to succeed and return its output; the arguments are those of run().

    Raises Stop with the command and its last lines otherwise, and OSError.
    """
    done = run(cmd, cwd, stdin, env, user=user)
    if done.returncode:
        raise Stop(f"{' '.join(map(str, cmd))}: {last_lines(done.stdout)}")
    return done.stdout


def last_lines(text: str, count: int = 3) -> str:
    """Return the last lines that are not empty, joined by ' | '."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-count:])


def each(check: Callable[[Item], list[str]], items: Iterable[Item]) -> list[str]:
    """Run a check on every item, several at a time; findings keep the order."""
    with ThreadPoolExecutor(environment.jobs()) as pool:
        return [line for found in pool.map(check, items) for line in found]


def say(text: str, to=sys.stdout) -> None:
    """Print one line that begins with the command's name, the first word of the command line."""
    print(f"{(sys.argv + [''])[1]}: {text}", file=to, flush=True)


def interrupted(*_: object) -> None:
    """Stop; a kernel tree is written to in Tree.move() alone, which signals do not stop."""
    raise KeyboardInterrupt


def start(main: Callable[..., object], *words: str) -> None:
    """Run the main function of a command that works on a kernel tree; a Stop is one line and exit
    status 1, a signal 130."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupted)
    try:
        main(*words)
    except Stop as stop:
        say(f"error: {stop}", sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        say("stopped; the tree is as it was", sys.stderr)
        sys.exit(130)
