# SPDX-License-Identifier: GPL-2.0
"""Times rep_movs_alternative() before and with the series, in user space on the real CPU: rep_movs.c,
with mainline's file and the tree's.

`make bench GROUP=preparations` makes Documentation/results/preparations/bench.rst.
"""
from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tools.bench.measure import HERE as BENCHES
from tools.bench.measure import BenchError, command, machine_words, page_of, samples
from tools.bench.returns import flags, returns, routines
from tools.queue.scratch import Sources
from tools.results.store import Table

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("rep_movs.c", "../../tools/bench/returns.py", "../../tools/bench/tsc.h")
ROUTINE = "arch/x86/lib/copy_user_64.S"
MEASURES = {
    "hot": "Fixed sizes, hot",
    "written": "Fixed sizes, hot, of fields of 8 bytes that were written just before: cycles for both",
    "random": "Random sizes of 1 to so many bytes, hot",
    "memory": "Source and destination in no cache, one copy at a time",
}
FLAVOURS = ("erms", "movsq")
# A size may take so many cycles more, or this part of mainline's
ALLOWED = (3.0, 0.05)


def build(tree: Path, directory: Path) -> Path:
    """Assemble the routine of mainline and of the tree, and link rep_movs.c with them; raises BenchError."""
    before = Sources(tree).original(ROUTINE)
    if not before:
        raise BenchError(f"{tree} has no {ROUTINE}")
    sources = [(str(file), f"{flavour}{suffix}.o", [f"-DSYM_SUFFIX=_{flavour}{suffix}", *more])
               for file, suffix in ((before.resolve(), "_before"), ((tree / ROUTINE).resolve(), ""))
               for flavour, more in (("movsq", []), ("erms", ["-DCPU_HAS=X86_FEATURE_ERMS"]))]
    program, how = directory / "rep_movs", returns()
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", *flags(how), f"-I{BENCHES}",
            "-o", program, HERE / "rep_movs.c", *routines(tree, directory, tuple(sources), how))
    return program


def run(tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own. Raises BenchError."""
    with tempfile.TemporaryDirectory() as directory:
        program = build(tree, Path(directory))
        cells = {measure: samples(program, measure, rounds) for measure in MEASURES}
    return {"cells": cells, "returns": returns()}


def complaints(block: dict[str, Any]) -> list[str]:
    """Return what takes longer than ALLOWED, of the flavour that this CPU has if it has no FSRM."""
    flavour = "erms" if "erms" in block["machine"]["copy flags"].split() else "movsq"
    found = []
    for cell, copies in block["cells"].items():
        before, after = copies[f"{flavour}_before"][0], copies[flavour][0]
        if after > before + max(ALLOWED[0], ALLOWED[1] * before):
            found.append(f"{cell}: {before:.1f} -> {after:.1f} cycles ({flavour})")
    return found


def table(sizes: dict[str, Any], measure: str) -> str:
    """Return a measure as an rst table: median (quartiles) of mainline's routine and of the series'."""
    names = [f"{flavour}{when}" for flavour in FLAVOURS for when in ("_before", "")]
    lines = [f".. csv-table:: {MEASURES[measure]}: cycles", "   :header: bytes, "
             + ", ".join(f'"{flavour}, {when}"' for flavour in FLAVOURS for when in ("v7.3", "series"))
             + ", noise", ""]
    for size, copies in sizes.items():
        figures = ('"{median:.1f} ({low:.1f}..{high:.1f})"'.format(**copies[name]) for name in names)
        noise = abs(copies["again"]["median"] / copies["erms_before"]["median"] - 1)
        lines.append(f"   {size}, {', '.join(figures)}, {100 * noise:.0f} %")
    return "\n".join(lines) + "\n"


def part(result: dict[str, Any]) -> str:
    """Return the part of the page that is made of a block."""
    slower = complaints(result)
    return "\n".join([
        f"Timed in user space: {machine_words(result)}; ``{result['command']}``, {result['date']}. "
        "erms: the routine of a CPU with ERMS and no FSRM; movsq: of one with neither; a CPU with FSRM "
        f"stands in for both. What is called returns by {result['returns']}. Medians (quartiles) of "
        f"{result['rounds']} rounds, in which the copies take turns, each round with the call at another "
        "place of a cache line and other alignments. Noise: two turns of mainline's, erms.", "",
        f"Slower than v7.3 by more than {ALLOWED[0]:g} cycles and {ALLOWED[1]:.0%}: "
        f"{'; '.join(slower) or 'none'}.", "",
        *(table(result["measures"][measure], measure) for measure in MEASURES)])


def page(found: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(found, part)
