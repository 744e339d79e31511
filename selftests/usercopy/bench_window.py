# SPDX-License-Identifier: GPL-2.0
"""Times user copies by the distance of their addresses modulo 4 KiB: window.c, in user space on the
real CPU, and four system calls on the kernel that runs.

`make bench GROUP=usercopy` makes Documentation/results/usercopy/bench_window.rst. Neighbouring
distances that behave alike are one row.
"""
from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from selftests.bench.claims import check, losses
from selftests.bench.measure import Measured, assemble, command, machine_words, page_of
from selftests.results.store import Table
from selftests.usercopy.auto import write_header

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("window.c", "auto.py", "../bench/claims.py", "../bench/tsc.h")
COPIES = ("none", "movsb", "again", "auto", "checked", "unrolled", "string")
CALLS = ("pread", "pwrite", "pipe", "socket")
MEASURES = {"hot": COPIES, "isolated": COPIES, "calls": CALLS}
# Two medians are alike if they differ by no more than a tenth, or this many cycles
ALIKE, CYCLES = 0.1, 8

# A row that window.c prints: bytes, delta, then of each copy median, quartiles and worst, in cycles
Row = dict[str, Any]


def alike(a: Row, b: Row, names: tuple[str, ...]) -> bool:
    """Return whether two rows have one size and medians that are alike."""
    return a["bytes"] == b["bytes"] and all(
        abs(a[name][0] - b[name][0]) <= max(CYCLES, ALIKE * a[name][0]) for name in names)


def joined(rows: list[Row], names: tuple[str, ...]) -> Measured:
    """Return rows by "BYTES/DELTA" or "BYTES/FIRST-LAST", each run of alike ones joined to one.

    Of these: the median of the medians, the least lower and the largest upper quartile, the worst.
    """
    runs: list[list[Row]] = []
    for row in rows:
        if runs and alike(runs[-1][0], row, names):
            runs[-1].append(row)
        else:
            runs.append([row])
    found: Measured = {}
    for run in runs:
        first, last = run[0]["delta"], run[-1]["delta"]
        deltas = f"{first}-{last}" if last != first else f"{first}"
        found[f"{run[0]['bytes']}/{deltas}"] = {
            name: {"median": round(statistics.median(row[name][0] for row in run), 1),
                   "low": min(row[name][1] for row in run),
                   "high": max(row[name][2] for row in run),
                   "worst": max(row[name][3] for row in run)} for name in names}
    return found


def never_loses(measure: str, rows: list[Row]) -> dict[str, Any]:
    """Return how auto compares with rep movsb, by every size and distance."""
    return losses((f"{measure}/{row['bytes']}/{row['delta']}", row["movsb"][0], row["again"][0],
                   row["auto"][0]) for row in rows)


def run(tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own. Raises BenchError if auto loses."""
    cells, claims = {}, {}
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "window"
        objects = assemble(tree, Path(directory), (("copy_user_variants_64.S", "copy.o", []),))
        write_header(tree, Path(directory))
        command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", "-D_GNU_SOURCE",
                f"-I{directory}", "-o", program, HERE / "window.c", *objects, "-lm")
        for measure, names in MEASURES.items():
            lines = command(program, measure, str(rounds)).splitlines()
            rows = [json.loads(line) for line in lines]
            cells[measure] = joined(rows, names)
            print(f"window: {measure}: {rounds} rounds", flush=True)
            if names is COPIES:
                claims[measure] = never_loses(measure, rows)
    check(claims["isolated"], "one copy at a time")
    return {"cells": cells, "claims": claims}


HEADS = {
    "hot": "Copies without a pause between them: cycles for a copy",
    "isolated": "One copy at a time: cycles for a copy, with those of the two readings",
    "calls": "System calls on the running kernel: cycles for a call",
}


def lost_words(cells: list[str]) -> str:
    """Return how many cells lost, and the first and last distance by size."""
    sizes: dict[str, list[int]] = {}
    for cell in cells:
        _, size, delta = cell.split("/")
        sizes.setdefault(size, []).append(int(delta))
    words = [f"{len(deltas)} of {size} bytes, {min(deltas)} to {max(deltas)}"
             for size, deltas in sizes.items()]
    return f"{len(cells)} ({'; '.join(words)})" if words else "none"


def table(measure: str, cells: dict[str, Any]) -> str:
    """Return a measure as an rst table."""
    names = MEASURES[measure]
    copies = measure != "calls"
    rows = [["bytes", "delta", *names, *(["worst movsb", "movsb: unrolled"] if copies else [])]]
    for cell, found in cells.items():
        row = [*cell.split("/"), *(f"{found[name]['median']:.0f}" for name in names)]
        if copies:
            movsb, none = found["movsb"], found["none"]["median"]
            least = max(found["unrolled"]["median"] - none, 1)
            row += [f"{movsb['worst']:.0f}", f"{(movsb['median'] - none) / least:.2f}"]
        rows.append(row)
    head, *lines = (", ".join(f'"{text}"' for text in row) for row in rows)
    return "\n".join([f".. csv-table:: {HEADS[measure]}", f"   :header: {head}", "",
                      *(f"   {line}" for line in lines)]) + "\n"


def part(result: dict[str, Any]) -> str:
    """Return the part of the page that is made of a block."""
    measures: dict[str, dict[str, Any]] = {measure: {} for measure in MEASURES}
    for measure, cells in result["measures"].items():
        measures[measure].update(cells)
    return "\n".join([
        f"Timed in user space: {machine_words(result)}; ``{result['command']}``, "
        f"{result['date']}. delta: (destination - source) modulo 4 KiB. movsb and again are the "
        "same, rep movsb, mainline's copy on a CPU with FSRM: their difference is the noise. "
        "auto is what x86_usercopy=auto executes on this CPU, checked is rep movsb with Zen 4's "
        "check of the addresses; unrolled and string are what x86_usercopy= can choose. Medians "
        f"over the alignments of the source, 0 to 63, of medians of {result['rounds']} samples. \"movsb: unrolled\" is "
        "how many times as long the former takes, less the call, none. The system calls copy "
        "between a page of the kernel and a buffer at that distance; they are mainline's, on the "
        f"kernel that is named above. Deltas whose medians differ by at most {100 * ALIKE:.0f} % "
        f"or {CYCLES} cycles are one row.", "",
        *(f"* {measure}: of {claim['cells']} sizes and distances, auto loses "
          f"{lost_words(claim['lost'])}; {len(claim['not shown'])} are not shown, as two times of "
          "rep movsb differ more than 1 % and a cycle."
          for measure, claim in result["claims"].items()), "",
        *(table(measure, cells) for measure, cells in measures.items() if cells)])


def page(found: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(found, part)
