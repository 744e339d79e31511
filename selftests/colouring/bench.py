# SPDX-License-Identifier: GPL-2.0
"""Times the walk of Linux 2.4 under one lock, with the colours of 2001 and without, in user space
on the real CPU (lock.c). No kernel tree is used.

`make bench GROUP=colouring` makes Documentation/results/colouring/bench.rst.
"""
from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from tools.bench.measure import HERE as BENCHES
from tools.bench.measure import BenchError, command, machine_words, page_of, samples
from tools.results.store import Table

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("lock.c", "../../tools/bench/tsc.h")
L2_SETS = Path("/sys/devices/system/cpu/cpu0/cache/index2/number_of_sets")


def build(directory: Path) -> Path:
    """Build lock.c; return the program. Raises BenchError."""
    program = directory / "lock"
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{BENCHES}", "-o", program,
            HERE / "lock.c")
    return program


def run(_tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own. Raises BenchError."""
    load = os.getloadavg()[0]
    if not L2_SETS.is_file():
        raise BenchError(f"{L2_SETS} does not say how many sets the L2 cache has")
    with tempfile.TemporaryDirectory() as directory:
        program = build(Path(directory))
        timed = samples(program, L2_SETS.read_text(encoding="ascii").strip(), rounds,
                        ("cell", "layout"))
    return {"load": load, "threads": min(4, len(os.sched_getaffinity(0))),
            "cells": {"lock": timed}}


def row(cell: str, layouts: dict[str, dict[str, float]]) -> str:
    """Return a line of the table: median and quartiles of each layout."""
    values = [f"{layouts[name]['median']:.1f} ({layouts[name]['low']:.1f}.."
              f"{layouts[name]['high']:.1f})"
              for name in ("uncoloured", "uncoloured_again", "4")]
    return ", ".join(f'"{word}"' for word in (cell.replace("_", ", "), *values))


def part(block: dict[str, Any]) -> str:
    """Return the part of the page that is made of a block."""
    return "\n".join([
        f"Timed in user space: {machine_words(block)}; {block['threads']} threads on as many CPUs, "
        f"{block['rounds']} rounds, load average {block['load']:.1f} at the beginning; "
        f"``{block['command']}``, {block['date']}.", "",
        ".. csv-table:: A walk over 2.4's task_structs, 8 KiB each, under one spinlock: cycles for "
        "which the lock is held, mean and maximum, and acquisitions in percent that wait; medians "
        "of the rounds (quartiles)",
        '   :header: "tasks", "uncoloured", "uncoloured, once more", "4 colours"', "",
        *(f"   {row(cell, layouts)}" for cell, layouts in block["measures"]["lock"].items()), ""])


def page(table: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(table, part)
