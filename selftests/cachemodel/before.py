#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tables of mainline's code as it is, which the series is held against.

  before.py count OPTION...   boots for all cells, two at a time (options of
                              model.py run); cells that are there are kept
  before.py tables            makes Documentation/results/*.rst from the results

The results are kept in Documentation/results/model/*.json, with the first
functions only: `make lint` checks that the tables are made of them, and that
all are of one kernel and one QEMU.

Exit status: 0 done, 1 a boot failed, 2 usage, 130 interrupted.
"""
from __future__ import annotations

import statistics
import sys
from pathlib import Path

import tables
from published import RESULTS, Published, literal, main, spread, wrapped
from result import misses

TASKS = (4, 8, 12, 16, 32, 64, 128, 256)
PERTURB = (0, 3, 10, 31, 100)
WRITERS_PERTURB = (0, 10, 100)
SWITCHES = 4000
WRITERS = {
    "writers-4k": ["writers=4", "record=4096"],
    "writers-64k": ["writers=4", "record=65536"],
    "writers-4k-tmpfs": ["writers=4", "record=4096", "fs=tmpfs"],
}


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model.py run."""
    runs = {f"{name}-{perturb}": ["writers", "--bound", f"--set=perturb={perturb}",
                                  *(f"--set={word}" for word in words)]
            for name, words in WRITERS.items() for perturb in WRITERS_PERTURB}
    for tasks in TASKS:
        for perturb in PERTURB:
            runs[f"ring-{tasks}-{perturb}"] = [
                "ring", "--bound", f"--set=tasks={tasks}", f"--set=perturb={perturb}",
                f"--set=rounds={SWITCHES // tasks}"]
    return runs


PUBLISHED = Published(RESULTS / "model", cells(), "before.py")


def ring_rows(level: str) -> list[list[str]]:
    """Return the rows of one level: misses per switch by tasks and kind."""
    kinds = ("task_struct", "kernel stack", "other")
    rows = [[f"{tables.HEADS[level]} misses, N =", "all", *kinds, "fully associative"]]
    for tasks in TASKS:
        runs = [PUBLISHED.kept(f"ring-{tasks}-{perturb}") for perturb in PERTURB]
        labels = [run["labels"]["ring"] for run in runs]

        def each(kind: str) -> list[float]:
            return [label["kinds"][kind][level] / label["units"] for label in labels]
        rows.append([str(tasks), spread(
            [misses(label, level) / label["units"] for label in labels]),
            *(spread(each(kind)) for kind in kinds),
            spread([misses(run["fully_associative"]["ring"], level) /
                    run["fully_associative"]["ring"]["units"] for run in runs])])
    return rows


def ring_table() -> str:
    """Return the page part about the ring."""
    first = PUBLISHED.kept(f"ring-{TASKS[0]}-{PERTURB[0]}")
    lines = [label["kinds"] for label in (
        PUBLISHED.kept(f"ring-64-{perturb}")["labels"]["ring"] for perturb in PERTURB)]
    footprint = ", ".join(
        f"{kind} {statistics.median(kinds[kind]['lines'] for kinds in lines) / 64:.0f}"
        for kind in ("task_struct", "kernel stack"))
    head = tables.headline(first).split("\n", 1)[1]
    body = "\n\n".join(tables.columns(ring_rows(level)) for level in ("l1d", "l2"))
    return literal(
        f"Misses per context switch in a ring of N tasks; of {len(PERTURB)} boots with\n"
        f"perturbed memory the median (least..most)\n{head}\n\n{body}\n\n"
        f"Lines touched / tasks, N = 64: {footprint}\n\n"
        + wrapped(tables.LIMITS))


def writers_table() -> str:
    """Return the page part about the writers."""
    parts = []
    for name in WRITERS:
        runs = [PUBLISHED.kept(f"{name}-{perturb}") for perturb in WRITERS_PERTURB]
        result = runs[0]
        parts += [tables.headline(result), tables.summary(result, "writers"),
                  tables.top_functions(result, "writers", 5),
                  f"LLC misses per record, of {len(runs)} boots with perturbed memory "
                  "the median (least..most): " + spread([
                      misses(run["labels"]["writers"], "llc") /
                      run["labels"]["writers"]["units"] for run in runs])]
    return literal("\n\n".join([*parts, wrapped(tables.LIMITS)]))


def pages() -> dict[Path, str]:
    """Return the files that are made of the results, with their text.

    Raises OSError for a cell that is missing, ValueError for one that is of
    another kernel than the others.
    """
    PUBLISHED.check_one_kernel()
    return {RESULTS / "before-ring.rst": PUBLISHED.note() + ring_table(),
            RESULTS / "before-writers.rst": PUBLISHED.note() + writers_table()}


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", PUBLISHED, pages))
