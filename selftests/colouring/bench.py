# SPDX-License-Identifier: GPL-2.0
"""Times the walk of Linux 2.4 under one lock, with the colours of 2001 and without, in user space
on the real CPU (lock.c). No kernel tree is used.

`make bench GROUP=colouring` makes Documentation/results/colouring/bench.csv: mean and maximum of
the cycles for which the lock is held, and the acquisitions in percent that wait.
"""
from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

from tools.figures.measure import HEADERS, BenchError, Sample, command, samples

HERE = Path(__file__).resolve().parent
L2_SETS = Path("/sys/devices/system/cpu/cpu0/cache/index2/number_of_sets")


def build(directory: Path) -> Path:
    """Build lock.c; return the program. Raises BenchError."""
    program = directory / "lock"
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{HEADERS}", "-o", program,
            HERE / "lock.c")
    return program


def columns_of(sample: Sample) -> dict[str, Any]:
    """Return the columns of a sample, whose cell is TASKS_MEASURE."""
    tasks, measure = re.fullmatch(r"(\d+)_(\w+)", sample["cell"]).groups()
    return {"measure": measure, "tasks": int(tasks), "copy": sample["layout"]}


def run(_tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own. Raises BenchError."""
    load = os.getloadavg()[0]
    if not L2_SETS.is_file():
        raise BenchError(f"{L2_SETS} does not say how many sets the L2 cache has")
    with tempfile.TemporaryDirectory() as directory:
        program = build(Path(directory))
        sets = L2_SETS.read_text(encoding="ascii").strip()
        cells = samples(program, (sets, rounds), columns_of)
    return {"load": load, "threads": min(4, len(os.sched_getaffinity(0))), "cells": cells}
