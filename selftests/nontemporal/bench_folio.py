# SPDX-License-Identifier: GPL-2.0
"""Times buffered writes as vm.nontemporal_write has them copied, and what they cost a bystander, in
user space on the real CPU: folio.c, with the tree's own copy_lines_nontemporal().

`make bench GROUP=nontemporal` makes Documentation/results/nontemporal/bench_folio.csv, cycles of a
write with the work of a system call. It complains if the default minimum is slower in a row in
which it bypasses the caches, or if DEMANDED is not held. plain and again are the same, rep movsb,
as with vm.nontemporal_write 0; default is 2 with the default minimum, always 2 with a minimum of
512.
"""
from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

from tools.figures.cells import Block, Cell, by_row
from tools.figures.claims import compare
from tools.figures.measure import HEADERS, BenchError, assemble, command, summary

HERE = Path(__file__).resolve().parent
COPIES = ("plain", "again", "default", "always")
# How much longer a row may take that bypasses the caches: cycles, or a part
ALLOWED = 1.0, 0.01
# A row says something of a copy if more than this part of its bytes bypasses the caches
BYPASSED = 0.5
# The most of plain's time that rows with a minimum of 512 bytes take
DEMANDED = {("stream", 65536): 0.8, ("stream", 262144): 0.8, ("stream_pages", 65536): 0.8,
            ("fresh", 65536): 0.85, ("fresh", 262144): 0.85, ("fresh", 1048576): 1.0,
            ("bystander_256k", 65536): 0.5}


def default_minimum(tree: Path) -> int:
    """Return the kernel's vm.nontemporal_write_min, in bytes; raises BenchError."""
    text = (tree / "mm/filemap.c").read_text(encoding="utf-8")
    found = re.search(r"^unsigned int nontemporal_write_min = SZ_(\d+)([KMG]?);", text, re.M)
    if not found:
        raise BenchError("mm/filemap.c has no nontemporal_write_min: run make apply")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]]


def row_of(program: Path, row: str, rounds: int) -> list[Cell]:
    """Time a row, MEASURE/BYTES; return its cells."""
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in COPIES}
    for line in command(program, row, str(rounds)).splitlines():
        sample = json.loads(line)
        samples[sample["copy"]].append(sample)
    measure, size = row.split("/")
    return [Cell(measure=measure, bytes=int(size), copy=name,
                 bypassed=None if name in ("plain", "again") else
                 round(sum(sample["bypassed"] for sample in of) / len(of), 2),
                 **summary([sample["cycles"] for sample in of])) for name, of in samples.items()]


def run(tree: Path, rounds: int) -> Block:
    """Measure; return what is the block's own. Raises BenchError."""
    cells: list[Cell] = []
    least = default_minimum(tree)
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "folio"
        objects = assemble(tree, Path(directory), (("copy_user_uncached_64.S", "nontemporal.o",
                                                    ["-DCONFIG_NONTEMPORAL_WRITE"]),))
        command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", f"-I{HEADERS}",
                f"-DDEFAULT_MIN={least}UL", "-o", program, HERE / "folio.c", *objects)
        names = command(program, "list").split()
        for row in names:
            cells += row_of(program, row, rounds)
        print(f"folio: {len(names)} rows: {rounds} rounds", flush=True)
    return {"cells": cells, "minimum": least}


def broken(block: Block) -> list[tuple[str, int, str]]:
    """Return measure, bytes and words for each row in which the default minimum bypasses the caches
    and is slower, and for each one of DEMANDED that does not hold or is not there."""
    timed = {(cell.measure, cell.bytes) for cell in block["cells"]}
    found = [(*row, "not timed") for row in DEMANDED if row not in timed]
    for copies in by_row(block["cells"]):
        row = copies["plain"].measure, copies["plain"].bytes
        medians = {name: cell.median for name, cell in copies.items()}
        if copies["default"].bypassed > BYPASSED:
            # A row whose two times of plain differ judges nothing: the table has both
            slower = compare([("", *(medians[name] for name in COPIES[:3]))], *ALLOWED)["slower"]
            found += [(*row, f"default {series:.1f}, plain {max(plain, again):.1f} cycles")
                      for plain, again, series in slower.values()]
        part = medians["always"] / medians["plain"]
        if part > DEMANDED.get(row, part):
            found.append((*row, f"always takes {part:.2f} of plain's time, more than "
                                f"{DEMANDED[row]:g}"))
    return found


def complaints(block: Block) -> list[str]:
    """Return broken() as lines."""
    return [f"{measure}/{size}: {words}" for measure, size, words in broken(block)]
