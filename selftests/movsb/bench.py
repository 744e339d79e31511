# SPDX-License-Identifier: GPL-2.0
"""Times user copies by the distance of their addresses modulo 4 KiB: distance.c, in user space on
the real CPU, and four system calls on the kernel that runs.

`make bench GROUP=movsb` makes Documentation/results/movsb/bench.csv. Neighbouring distances that
behave alike are one row; random ones are at 4096. movsb and again are the same, mainline's copy on
a CPU with FSRM: their difference is the noise. series is what the series executes on this CPU,
checked is rep movsb with the check of the addresses, movsq is rep_movs_alternative() of a CPU
without ERMS (unrolled, in older blocks, was a loop of its own for each copy). Medians are over the
alignments of the source, 0 to 63, and over the link orders.
"""
from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from selftests.movsb.site import FEATURES, last_distance, write_headers
from tools.figures.cells import Block, Cell, by_row, one_row
from tools.figures.claims import compare, lines_of
from tools.figures.machine import cpu, machine
from tools.figures.measure import BenchError, command
from tools.figures.returns import flags, returns, routines

HERE = Path(__file__).resolve().parent
COPIES = ("none", "movsb", "again", "series", "checked", "movsq")
CALLS = ("pread", "pwrite", "pipe", "socket")
MEASURES = {"hot": COPIES, "isolated": COPIES, "memory": COPIES, "random": COPIES, "calls": CALLS}
# Two medians are alike if they differ by no more than a tenth, or this many cycles
ALIKE, CYCLES = 0.1, 8
# A check may take so many cycles, or this part of rep movsb's time, longer
ALLOWED = {"hot": (3.0, 0.03), "isolated": (5.0, 0.05)}
# Where a body is linked is some cycles on Zen 4: copies moved behind the others, see site.py
ORDERS = (0, 2, 4)
# On a CPU whose distances are checked: bytes, and the most of rep movsb's time at slow distances
GAINS = {1: 0.5, 16: 0.5, 64: 0.5, 256: 0.3, 4096: 0.15, 32768: 0.15, 65536: 0.15}

# Bytes of the rows at random distances, and how many cycles slower a check may be below 1 KiB
RANDOM = (1, 8, 16, 64, 128, 256, 512, 1024, 4096, 65536)
RANDOM_CYCLES = 2

# A row that distance.c prints: bytes, delta, then of each copy median, quartiles and worst
Row = dict[str, Any]


def alike(a: Row, b: Row, names: tuple[str, ...]) -> bool:
    """Return whether two rows have one size and medians that are alike."""
    return a["bytes"] == b["bytes"] and all(
        abs(a[name][0] - b[name][0]) <= max(CYCLES, ALIKE * a[name][0])
        for name in names if name in a)


def joined(measure: str, rows: list[Row], names: tuple[str, ...]) -> list[Cell]:
    """Return the cells of rows, each run of alike ones joined to one.

    Of these: the median of the medians, the least lower and the largest upper quartile, the worst.
    """
    runs: list[list[Row]] = []
    for row in rows:
        if runs and alike(runs[-1][0], row, names):
            runs[-1].append(row)
        else:
            runs.append([row])
    return [Cell(measure=measure, bytes=run[0]["bytes"], delta_first=run[0]["delta"],
                 delta_last=run[-1]["delta"], copy=name,
                 median=round(statistics.median(row[name][0] for row in run), 1),
                 low=min(row[name][1] for row in run), high=max(row[name][2] for row in run),
                 worst=max(row[name][3] for row in run))
            for run in runs for name in names if name in run[0]]


def middle(orders: list[list[Row]], names: tuple[str, ...]) -> list[Row]:
    """Return the rows of several link orders as one: of each cell the medians over the orders."""
    return [{"bytes": rows[0]["bytes"], "delta": rows[0]["delta"],
             **{name: [statistics.median(row[name][at] for row in rows) for at in range(4)]
                for name in names if name in rows[0]}} for rows in zip(*orders, strict=True)]


def compared(measure: str, rows: list[Row]) -> dict[str, Any]:
    """Return how the series compares with rep movsb, by every size and distance."""
    return compare(((f"{measure}/{row['bytes']}/{row['delta']}", row["movsb"][0], row["again"][0],
                     row["series"][0]) for row in rows), *ALLOWED[measure])


def build(tree: Path, directory: Path, order: int = 0) -> Path:
    """Build distance.c in a link order."""
    program, routine = directory / f"distance-{order}", "copy_user_64.S"
    has = f'-DCPU_HAS=X86_FEATURE_ERMS | X86_FEATURE_{FEATURES[last_distance(cpu())]}'
    objects = routines(tree, directory, (
        (routine, "copy.o", ["-DCONFIG_X86_MOVSB_DISTANCE", has]),
        (routine, "movsq.o", ["-DSYM_SUFFIX=_movsq"])), returns())
    write_headers(tree, directory, order)
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", "-fno-toplevel-reorder",
            *flags(returns()), "-D_GNU_SOURCE", f"-I{directory}", "-o", program,
            HERE / "distance.c", *objects)
    return program


def rows_of(program: Path, *arguments: object) -> list[Row]:
    """Run distance.c once; return its rows. Raises BenchError."""
    return [json.loads(line) for line in command(program, *map(str, arguments)).splitlines()]


def run(tree: Path, rounds: int) -> Block:
    """Measure; return what is the block's own. Raises BenchError."""
    cells: list[Cell] = []
    found = {}
    if "fsrm" not in machine()["copy flags"].split():
        raise BenchError("this CPU has no FSRM: its kernel does not copy by rep movsb of any size; "
                         "make bench GROUP=preparations times what it does")
    with tempfile.TemporaryDirectory() as directory:
        programs = [build(tree, Path(directory), order) for order in ORDERS]
        for measure, names in MEASURES.items():
            timed = programs if names is COPIES else programs[:1]
            middles = middle([rows_of(program, measure, rounds) for program in timed], names)
            cells += joined(measure, middles, names)
            print(f"distance: {measure}: {rounds} rounds", flush=True)
            if measure in ALLOWED:
                found[measure] = compared(measure, middles)
    return {"cells": cells, "compared": found, "orders": len(ORDERS), "returns": returns()}


def slower_at_random(block: Block) -> list[str]:
    """Return a line for each row of random distances in which the series is slower than it may be:
    from 1 KiB on than mainline, below by more than RANDOM_CYCLES."""
    lines = []
    for size in RANDOM:
        try:
            row = one_row(block["cells"], measure="random", bytes=size)
        except KeyError:
            lines.append(f"random/{size}: not timed")
            continue
        series, mainline = row["series"].median, max(row["movsb"].median, row["again"].median)
        if series > mainline + (RANDOM_CYCLES if size < 1024 else 0):
            lines.append(f"random/{size}: series {series:.1f}, mainline {mainline:.1f} cycles")
    return lines


def complaints(block: Block) -> list[str]:
    """Return a line for each cell of a block in which the series is slower than it may be, and, on
    a CPU whose distances are checked, for each size for which it does not gain what it should."""
    found = [line for measure in block.get("compared", {}).values() for line in lines_of(measure)]
    if not (slow := last_distance(block["machine"])):
        return found
    found += slower_at_random(block)
    for size, part in GAINS.items():
        pairs = [(row["series"], row["movsb"].median)
                 for row in by_row(block["cells"], measure="hot", bytes=size)
                 if 1 <= row["series"].delta_first and row["series"].delta_last <= slow]
        if sum(series.delta_last - series.delta_first + 1 for series, _ in pairs) != slow:
            found.append(f"hot/{size}: distances 1 to {slow} are no rows of their own")
        found += [f"hot/{size}, distances 1 to {slow}: series {series.median:.1f} of "
                  f"{movsb:.1f} cycles, more than {part:g}"
                  for series, movsb in pairs if series.median > part * movsb]
    return found
