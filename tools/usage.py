# SPDX-License-Identifier: GPL-2.0
"""Checks the variables of a make target before any work: nothing is installed or built for a typo.

  tools/run tools.usage TARGET [ARGUMENT...]     GROUP= for every target, and what the target takes

Exit status: 0 they are good, 2 they are not; the one line says what there is to choose from.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from tools import groups, jobs
from tools.figures.bench import arguments as bench_arguments
from tools.model.__main__ import arguments as model_arguments
from tools.model.published import published_of
from tools.send import mail


def number(name: str) -> int | None:
    """Return the number that a variable has, None without one; raises ValueError."""
    text = os.environ.get(name, "")
    if text and not text.isdigit():
        raise ValueError(f"{name}={text} is not a number")
    return int(text) if text else None


def is_set(name: str) -> bool:
    """Return whether a switch is 1; raises ValueError for what is neither that nor empty."""
    text = os.environ.get(name, "")
    if text not in ("", "1"):
        raise ValueError(f"{name}={text}: {name}=1 or nothing")
    return bool(text)


def check_mail() -> None:
    """SET= or GROUP=, V=, RFC=, SIGNOFF=, OUT=."""
    number("V"), is_set("RFC"), is_set("SIGNOFF")
    mail.wanted()


def check_bench() -> None:
    """GROUP=, ROUNDS=, SHORT=1."""
    short, rounds = is_set("SHORT"), number("ROUNDS")
    if short and rounds is not None:
        raise ValueError("SHORT=1 has its own number of rounds: leave ROUNDS= out")
    bench_arguments([*os.environ.get("GROUP", "").split(), "--tree=.",
                     *([] if rounds is None else [f"--rounds={rounds}"])])


def check_results_add() -> None:
    """FILE=."""
    if not Path(file := os.environ.get("FILE", "")).is_file():
        raise ValueError(f"FILE={file}: no such file; make bench SHORT=1 writes one")


def check_time_compare() -> None:
    """A=, B=."""
    for name in "AB":
        if not Path(file := os.environ.get(name, "")).is_file():
            raise ValueError(f"{name}={file}: no such file; make time writes one")


def check_test() -> None:
    """JOB= is for the slow jobs."""
    if job := os.environ.get("JOB"):
        raise ValueError(f"make test takes no JOB=: make test-full JOB={job}")


def check_test_full() -> None:
    """JOB=."""
    if job := os.environ.get("JOB"):
        jobs.named(job)


def check_rebase_report() -> None:
    """KDIR=."""
    if not os.environ.get("KDIR"):
        raise ValueError("KDIR= names the tree of another version")


def check_help() -> None:
    """JOB=list."""
    if os.environ.get("JOB", "list") != "list":
        raise ValueError(f"JOB={os.environ['JOB']}: JOB=list lists the slow jobs")


CHECKS: dict[str, Callable[..., object]] = {
    "mail": check_mail, "bench": check_bench, "results-add": check_results_add, "test": check_test,
    "test-full": check_test_full, "help": check_help, "rebase-report": check_rebase_report,
    "time-compare": check_time_compare,
    "model": lambda *words: model_arguments(list(words)),
    "model-tables": lambda: published_of(os.environ.get("GROUP", ""))}


def main(target: str, *words: str) -> None:
    """Check what the target was given; raises ValueError, OSError, mail.Stop or SystemExit."""
    groups.chosen(groups.series())
    CHECKS.get(target, lambda: None)(*words)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, ValueError, mail.Stop) as error:
        print(f"make {sys.argv[1]}: error: {error}", file=sys.stderr)
        sys.exit(2)
