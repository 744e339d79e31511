# SPDX-License-Identifier: GPL-2.0
"""Times what reads of variables add to a system call, as loads and as immediates (reads.c), in user
space on the real CPU. No kernel tree is used.

`make bench GROUP=immediate` makes Documentation/results/immediate/bench.rst.
"""
from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from tools.bench.measure import HERE as BENCHES
from tools.bench.measure import command, machine_words, page_of, samples
from tools.results.store import Table

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("reads.c", "../../tools/bench/tsc.h")
SIZES = Path("/sys/devices/system/cpu/cpu0/cache")
# Written before a call, in KiB: more than second-level caches of today; for all caches twice the largest, in these
# limits: a guest may be told of a cache that it shares with a hundred others
L2_KIB, ALL_KIB = 4 * 1024, (64 * 1024, 256 * 1024)
CACHES_OF = {"hot": "hot", "l2": "L2 thrashed", "llc": "all thrashed"}
# What hot reads may seem slower, in cycles: the counter itself takes some dozen
NOISE = 20
# What the original's 4096 reads took: 47.07 s instead of 84.15 s
ORIGINAL = 0.56
# Reads of four bytes, caches, what part of the loads' cycles they may add at most, and cycles more
ASKED = ((4096, "hot", ORIGINAL, 0), (4096, "l2", 1, 0), (32, "hot", 1, NOISE))


def run(_tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own. Raises BenchError."""
    load = os.getloadavg()[0]
    sizes = [int(path.read_text(encoding="ascii").rstrip("K\n")) for path in SIZES.glob("index*/size")]
    all_kib = min(max([ALL_KIB[0], *(2 * size for size in sizes)]), ALL_KIB[1])
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "reads"
        command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-pie", "-no-pie", f"-I{BENCHES}",
                "-o", program, HERE / "reads.c")
        timed = samples(program, f"{L2_KIB},{all_kib}", rounds, ("cell", "form"))
    return {"load": load, "thrash_kib": [L2_KIB, all_kib], "cells": {"reads": timed}}


def added(block: dict[str, Any], cell: str, form: str) -> float:
    """Return the cycles that reads of a form add to the call, in the median."""
    forms = block["cells"][f"reads/{cell}"]
    return float(forms[form][0] - forms["none"][0])


def complaints(block: dict[str, Any]) -> list[str]:
    """Return what does not hold of ASKED."""
    found = []
    for reads, caches, part, more in ASKED:
        immediates, loads = (added(block, f"u32_{reads}_{caches}", form) for form in ("immediates", "loads"))
        if immediates > part * loads + more:
            found.append(f"{reads} reads, {CACHES_OF[caches]}: {immediates:.0f} cycles as immediates, {loads:.0f} as loads")
    return found


def rows(block: dict[str, Any]) -> list[str]:
    """Return the lines of the table: cycles of the call without reads, and what each form adds to it."""
    lines = [f"{'bytes':<7}{'reads':<7}{'caches':<14}{'no reads':>17}{'as loads, added':>22}{'as immediates, added':>26}"]
    for cell, forms in block["cells"].items():
        width, reads, caches = cell.partition("/")[2].split("_")
        none, *others = forms["none"], forms["loads"], forms["immediates"]
        texts = [f"{none[0]:.0f} ({none[1]:.0f}..{none[2]:.0f})", *(
            f"{median - none[0]:.0f} ({low - none[0]:.0f}..{high - none[0]:.0f})" for median, low, high in others)]
        lines.append(f"{int(width[1:]) // 8:<7}{reads:<7}{CACHES_OF[caches]:<14}{texts[0]:>17}{texts[1]:>22}{texts[2]:>26}")
    return lines


def part(block: dict[str, Any]) -> str:
    """Return the part of the page that is made of a block."""
    l2, llc = block["thrash_kib"]
    return "\n".join([
        f"Timed in user space: {machine_words(block)}; {block['rounds']} rounds, load average {block['load']:.1f} at "
        f"the beginning; ``{block['command']}``, {block['date']}. Caches are thrashed by writes to {l2 // 1024} and "
        f"{llc // 1024} MiB. Cycles of a getppid() and what reads add to it, each from a cache "
        "line of its own and with a branch; medians of the rounds' first deciles (quartiles).", "",
        "::", "", *(f"   {line}" for line in rows(block)), ""])


def page(table: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(table, part)
