# SPDX-License-Identifier: GPL-2.0
"""Times rep_movs_alternative() before and with the series, in user space on the real CPU:
rep_movs.c, with mainline's file and the tree's.

`make bench GROUP=preparations` makes Documentation/results/preparations/bench.csv. erms: the
routine of a CPU with ERMS and no FSRM; movsq: of one with neither; a CPU with FSRM stands in for
both. _before: mainline's; again: erms_before once more, so that their difference is the noise. In
each round the call is at another place of a cache line and alignments are other ones.
"""
from __future__ import annotations

import tempfile
from pathlib import Path

from tools.figures.cells import Block, by_row
from tools.figures.measure import HEADERS, BenchError, command, of_sizes, samples
from tools.figures.returns import flags, returns, routines
from tools.tree.sources import Sources

HERE = Path(__file__).resolve().parent
ROUTINE = "arch/x86/lib/copy_user_64.S"
# random: sizes of 1 to so many bytes; memory: source and destination in no cache, one at a time
MEASURES = ("hot", "written", "random", "memory")
# A size may take so many cycles more, or this part of mainline's
ALLOWED = (3.0, 0.05)


def build(tree: Path, directory: Path) -> Path:
    """Assemble the routine of mainline and of the tree, and link rep_movs.c with them; raises
    BenchError."""
    before = Sources(tree).original(ROUTINE)
    if not before:
        raise BenchError(f"{tree} has no {ROUTINE}")
    sources = [(str(file), f"{flavour}{suffix}.o", [f"-DSYM_SUFFIX=_{flavour}{suffix}", *more])
               for file, suffix in ((before.resolve(), "_before"), ((tree / ROUTINE).resolve(), ""))
               for flavour, more in (("movsq", []), ("erms", ["-DCPU_HAS=X86_FEATURE_ERMS"]))]
    program, how = directory / "rep_movs", returns()
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", *flags(how),
            f"-I{HEADERS}", "-o", program, HERE / "rep_movs.c",
            *routines(tree, directory, tuple(sources), how))
    return program


def run(tree: Path, rounds: int) -> Block:
    """Measure; return what is the block's own. Raises BenchError."""
    with tempfile.TemporaryDirectory() as directory:
        program = build(tree, Path(directory))
        cells = [cell for measure in MEASURES
                 for cell in samples(program, (measure, rounds), of_sizes(measure))]
    return {"cells": cells, "returns": returns()}


def complaints(block: Block) -> list[str]:
    """Return what takes longer than ALLOWED, of the flavour that this CPU has if it has no FSRM."""
    flavour = "erms" if "erms" in block["machine"]["copy flags"].split() else "movsq"
    found = []
    for copies in by_row(block["cells"]):
        cell, before = copies[flavour], copies[f"{flavour}_before"].median
        if cell.median > before + max(ALLOWED[0], ALLOWED[1] * before):
            found.append(f"{cell.name}: {before:.1f} -> {cell.median:.1f} cycles ({flavour})")
    return found
