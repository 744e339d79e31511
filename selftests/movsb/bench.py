# SPDX-License-Identifier: GPL-2.0
"""Times user copies by the distance of their addresses modulo 4 KiB: distance.c, in user space on
the real CPU, and four system calls on the kernel that runs.

`make bench GROUP=movsb` makes Documentation/results/movsb/bench.rst. Neighbouring distances that
behave alike are one row.
"""
from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from selftests.movsb.site import FEATURES, last_distance, write_headers
from tools.bench.claims import compare, lines_of
from tools.bench.measure import BenchError, Measured, command, machine_words, page_of
from tools.bench.returns import flags, returns, routines
from tools.results.machine import cpu, machine
from tools.results.store import Table

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("distance.c", "site.py", "../../tools/bench/claims.py", "../../tools/bench/returns.py", "../../tools/bench/tsc.h")
# rep_movs_alternative() is theirs
PATCHES = ("patches of preparations",)
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

# A row that distance.c prints: bytes, delta, then of each copy median, quartiles and worst, in cycles
Row = dict[str, Any]


def alike(a: Row, b: Row, names: tuple[str, ...]) -> bool:
    """Return whether two rows have one size and medians that are alike."""
    return a["bytes"] == b["bytes"] and all(
        abs(a[name][0] - b[name][0]) <= max(CYCLES, ALIKE * a[name][0]) for name in names if name in a)


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
                   "worst": max(row[name][3] for row in run)} for name in names if name in run[0]}
    return found


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
            *flags(returns()), "-D_GNU_SOURCE", f"-I{directory}", "-o", program, HERE / "distance.c", *objects)
    return program


def rows_of(program: Path, *arguments: object) -> list[Row]:
    """Run distance.c once; return its rows. Raises BenchError."""
    return [json.loads(line) for line in command(program, *map(str, arguments)).splitlines()]


def run(tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own. Raises BenchError."""
    cells, found = {}, {}
    if "fsrm" not in machine()["copy flags"].split():
        raise BenchError("this CPU has no FSRM: its kernel does not copy by rep movsb of any size; "
                         "make bench GROUP=preparations times what it does")
    with tempfile.TemporaryDirectory() as directory:
        programs = [build(tree, Path(directory), order) for order in ORDERS]
        for measure, names in MEASURES.items():
            timed = programs if names is COPIES else programs[:1]
            rows = middle([rows_of(program, measure, rounds) for program in timed], names)
            cells[measure] = joined(rows, names)
            print(f"distance: {measure}: {rounds} rounds", flush=True)
            if measure in ALLOWED:
                found[measure] = compared(measure, rows)
    return {"cells": cells, "compared": found, "orders": len(ORDERS), "returns": returns()}


def slow_rows(size: int, slow: int, block: dict[str, Any]
              ) -> list[tuple[int, dict[str, list[float]]]]:
    """Return the hot rows of a size at distances 1 to slow: how many distances, the copies."""
    found = []
    for cell, copies in block["cells"].items():
        measure, _, where = cell.partition("/")
        if measure == "hot" and where.startswith(f"{size}/"):
            first, _, last = where.partition("/")[2].partition("-")
            if int(first) >= 1 and int(last or first) <= slow:
                found.append((int(last or first) - int(first) + 1, copies))
    return found


def slower_at_random(block: dict[str, Any]) -> list[str]:
    """Return a line for each row of random distances in which the series is slower than it may be:
    from 1 KiB on than mainline, below by more than RANDOM_CYCLES."""
    lines = []
    for size in RANDOM:
        if not (copies := block["cells"].get(f"random/{size}/4096")):
            lines.append(f"random/{size}: not timed")
            continue
        series, mainline = copies["series"][0], max(copies["movsb"][0], copies["again"][0])
        if series > mainline + (RANDOM_CYCLES if size < 1024 else 0):
            lines.append(f"random/{size}: series {series:.1f}, mainline {mainline:.1f} cycles")
    return lines


def complaints(block: dict[str, Any]) -> list[str]:
    """Return a line for each cell of a block in which the series is slower than it may be, and, on
    a CPU whose distances are checked, for each size for which it does not gain what it should."""
    found = [line for measure in block.get("compared", {}).values() for line in lines_of(measure)]
    if not (slow := last_distance(block["machine"])):
        return found
    found += slower_at_random(block)
    for size, part in GAINS.items():
        rows = slow_rows(size, slow, block)
        if sum(distances for distances, _ in rows) != slow:
            found.append(f"hot/{size}: distances 1 to {slow} are no rows of their own")
        found += [f"hot/{size}, distances 1 to {slow}: series {copies['series'][0]:.1f} of "
                  f"{copies['movsb'][0]:.1f} cycles, more than {part:g}"
                  for _, copies in rows if copies["series"][0] > part * copies["movsb"][0]]
    return found


HEADS = {
    "hot": "Copies without a pause between them: cycles for a copy",
    "isolated": "One copy at a time: cycles for a copy, with those of the two readings",
    "memory": "One copy at a time, its source and destination in memory, in no cache: cycles for a copy",
    "random": "Copies without a pause at random distances, 0 to 4095 (4096 in the column): cycles "
              "for a copy",
    "calls": "System calls on the running kernel: cycles for a call",
}


def table(measure: str, cells: dict[str, Any]) -> str:
    """Return a measure as an rst table."""
    names = list(next(iter(cells.values())))
    copies = measure != "calls"
    rows = [["bytes", "delta", *names, *(["worst movsb"] if copies else [])]]
    for cell, found in cells.items():
        row = [*cell.split("/"),
               *(f"{found[name]['median']:.0f}" if name in found else "" for name in names)]
        rows.append([*row, f"{found['movsb']['worst']:.0f}"] if copies else row)
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
        "series is what the series executes on this CPU, checked is rep movsb with the check of "
        "the addresses, movsq is rep_movs_alternative() of a CPU without ERMS (unrolled, in older blocks, "
        "was a loop of its own for each copy). Medians "
        f"over the alignments of the source, 0 to 63, of medians of {result['rounds']} samples, and "
        f"over {result.get('orders', 1)} link orders; a copy that is called returns by "
        f"{result.get('returns', 'ret')}. The system calls copy "
        "between a page of the kernel and a buffer at that distance; they are mainline's, on the "
        f"kernel that is named above. Deltas whose medians differ by at most {100 * ALIKE:.0f} % "
        f"or {CYCLES} cycles are one row.", "",
        *(f"* {measure}: of {found['cells']} sizes and distances, series takes more than "
          f"{ALLOWED[measure][0]:g} cycles and {ALLOWED[measure][1]:.0%} longer in "
          f"{len(found['slower'])}; {len(found['noisy'])} are noisy: two times of rep movsb differ "
          f"by more.{''.join(chr(10) + '  ' + line + '.' for line in lines_of(found))}"
          for measure, found in result.get("compared", {}).items()), "",
        *(table(measure, cells) for measure, cells in measures.items() if cells)])


def page(found: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(found, part)
