# SPDX-License-Identifier: GPL-2.0
"""Times what reads of variables add to a system call, as loads and as immediates (reads.c), in user
space on the real CPU. No kernel tree is used.

`make bench GROUP=immediate` makes Documentation/results/immediate/bench.csv: cycles of a getppid()
that makes so many reads, each from a cache line of its own and with a branch; of the rounds' first
deciles. Caches are thrashed by writes of thrash_kib.
"""
from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

from tools.figures.cells import Block, one_row
from tools.figures.measure import HEADERS, Sample, command, samples

HERE = Path(__file__).resolve().parent
SIZES = Path("/sys/devices/system/cpu/cpu0/cache")
# Written before a call, in KiB: more than second-level caches of today; for all caches twice the
# largest, in these limits: a guest may be told of a cache that it shares with a hundred others
L2_KIB, ALL_KIB = 4 * 1024, (64 * 1024, 256 * 1024)
CACHES_OF = {"hot": "hot", "l2": "L2 thrashed", "llc": "all thrashed"}
# What hot reads may seem slower, in cycles: the counter itself takes some dozen
NOISE = 20
# What the original's 4096 reads took: 47.07 s instead of 84.15 s
ORIGINAL = 0.56
# Reads of four bytes, caches, what part of the loads' cycles they may add at most, and cycles more
ASKED = ((4096, "hot", ORIGINAL, 0), (4096, "l2", 1, 0), (32, "hot", 1, NOISE))


def columns_of(sample: Sample) -> dict[str, Any]:
    """Return the columns of a sample, whose cell is uBITS_READS_CACHES."""
    bits, reads, caches = re.fullmatch(r"u(\d+)_(\d+)_(\w+)", sample["cell"]).groups()
    return {"measure": caches, "reads": int(reads), "bytes": int(bits) // 8,
            "copy": sample["form"]}


def run(_tree: Path, rounds: int) -> Block:
    """Measure; return what is the block's own. Raises BenchError."""
    load = os.getloadavg()[0]
    sizes = [int(path.read_text(encoding="ascii").rstrip("K\n"))
             for path in SIZES.glob("index*/size")]
    all_kib = min(max([ALL_KIB[0], *(2 * size for size in sizes)]), ALL_KIB[1])
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "reads"
        command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-pie", "-no-pie", f"-I{HEADERS}",
                "-o", program, HERE / "reads.c")
        cells = samples(program, (f"{L2_KIB},{all_kib}", rounds), columns_of)
    return {"load": load, "thrash_kib": [L2_KIB, all_kib], "cells": cells}


def added(block: Block, caches: str, reads: int, size: int, form: str) -> float:
    """Return the cycles that reads of so many bytes in a form add to the call, in the median."""
    forms = one_row(block["cells"], measure=caches, reads=reads, bytes=size)
    return forms[form].median - forms["none"].median


def complaints(block: Block) -> list[str]:
    """Return what does not hold of ASKED."""
    found = []
    for reads, caches, part, more in ASKED:
        immediates, loads = (added(block, caches, reads, 4, form)
                             for form in ("immediates", "loads"))
        if immediates > part * loads + more:
            found.append(f"{reads} reads, {CACHES_OF[caches]}: {immediates:.0f} cycles as "
                         f"immediates, {loads:.0f} as loads")
    return found
