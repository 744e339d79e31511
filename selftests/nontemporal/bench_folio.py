# SPDX-License-Identifier: GPL-2.0
"""Times buffered writes as vm.nontemporal_write has them copied, and what they cost a bystander, in
user space on the real CPU: folio.c, with the tree's own copy_lines_nontemporal().

`make bench GROUP=nontemporal` makes Documentation/results/nontemporal/bench_folio.rst. It fails if
the default minimum is slower in a row in which it bypasses the caches, or if DEMANDED is not held.
"""
from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from tools.bench.claims import compare
from tools.bench.measure import HERE as BENCHES
from tools.bench.measure import (BenchError, Measured, assemble, command, machine_words,
                                     page_of, summary)
from tools.results.store import Table

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("folio.c", "../../tools/bench/claims.py", "../../tools/bench/tsc.h")
COPIES = ("plain", "again", "default", "always")
# How much longer a row may take that bypasses the caches: cycles, or a part
ALLOWED = 1.0, 0.01
# A row says something of a copy if more than this part of its bytes bypasses the caches
BYPASSED = 0.5
# The most of plain's time that rows with a minimum of 512 bytes take
DEMANDED = {"stream/65536": 0.8, "stream/262144": 0.8, "stream_pages/65536": 0.8,
            "fresh/65536": 0.85, "fresh/262144": 0.85, "fresh/1048576": 1.0,
            "bystander_256k/65536": 0.5}
WHAT = {
    "fresh": "new folios in no cache, bytes of each",
    "stream": "a stream of 64 MiB after another one, bytes of each write",
    "stream_pages": "the same, data of the kernel's pages",
    "bystander_32k": "a line of 32 KiB on the writer's CPU, after 64 MiB by so many bytes",
    "bystander_256k": "a line of 256 KiB",
    "bystander_2m": "a line of 2 MiB",
    "ring": "a stream by 64 KiB to page frames of so many bytes, in turn",
    "read_at_once": "new folios, each read at once",
    "recycled": "a temporary file in the same page frames, by 4 KiB",
    "recycled_and_read": "the same, and read",
    "files_cold": "files of 1 to 64 KiB, for 4 KiB",
    "log_pages": "each page of a log 16 times",
    "append": "records at the end of a file",
    "rewritten": "the same block again and again",
    "fstime": "256 bytes, of a file of 512 KiB",
}


def default_minimum(tree: Path) -> int:
    """Return the kernel's vm.nontemporal_write_min, in bytes; raises BenchError."""
    text = (tree / "mm/filemap.c").read_text(encoding="utf-8")
    found = re.search(r"^unsigned int nontemporal_write_min = SZ_(\d+)([KMG]?);", text, re.M)
    if not found:
        raise BenchError("mm/filemap.c has no nontemporal_write_min: run make apply")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]]


def row_of(program: Path, row: str, rounds: int) -> tuple[Measured, dict[str, float]]:
    """Time a row; return its summaries by copy, and the part that bypassed the caches."""
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in COPIES}
    for line in command(program, row, str(rounds)).splitlines():
        sample = json.loads(line)
        samples[sample["copy"]].append(sample)
    found = {name: summary([sample["cycles"] for sample in of]) for name, of in samples.items()}
    parts = {name: round(sum(sample["bypassed"] for sample in of) / len(of), 2)
             for name, of in samples.items() if name in ("default", "always")}
    return found, parts


def run(tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own. Raises BenchError."""
    cells: dict[str, Measured] = {}
    bypassed: dict[str, dict[str, float]] = {}
    least = default_minimum(tree)
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "folio"
        objects = assemble(tree, Path(directory), (("copy_user_uncached_64.S", "nontemporal.o",
                                                    ["-DCONFIG_NONTEMPORAL_WRITE"]),))
        command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", f"-I{BENCHES}",
                f"-DDEFAULT_MIN={least}UL", "-o", program, HERE / "folio.c", *objects)
        for row in command(program, "list").split():
            name, _, size = row.partition("/")
            cells.setdefault(name, {})[size], bypassed[row] = row_of(program, row, rounds)
        print(f"folio: {len(bypassed)} rows: {rounds} rounds", flush=True)
    return {"cells": cells, "bypassed": bypassed, "minimum": least}


def complaints(block: dict[str, Any]) -> list[str]:
    """Return a line for each row in which the default minimum bypasses the caches and is slower,
    and for each one of DEMANDED that does not hold or is not there."""
    found = [f"{row}: not timed" for row in DEMANDED if row not in block["cells"]]
    for row, copies in block["cells"].items():
        medians = {name: values[0] for name, values in copies.items()}
        if block["bypassed"][row]["default"] > BYPASSED:
            # A row whose two times of plain differ judges nothing: the page shows both
            slower = compare([(row, *(medians[name] for name in COPIES[:3]))], *ALLOWED)["slower"]
            found += [f"{row}: default {series:.1f}, plain {max(plain, again):.1f} cycles"
                      for plain, again, series in slower.values()]
        part = medians["always"] / medians["plain"]
        if part > DEMANDED.get(row, part):
            found.append(f"{row}: always takes {part:.2f} of plain's time, more than "
                         f"{DEMANDED[row]:g}")
    return found


def table(result: dict[str, Any]) -> str:
    """Return the measures as an rst table."""
    rows = [["what", "bytes", *COPIES, "default: plain", "always: plain", "bypassed"]]
    for name, sizes in result["measures"].items():
        for size, copies in sizes.items():
            plain = copies["plain"]["median"]
            cells = [f"{copies[of]['median']:.0f} ({copies[of]['low']:.0f} to "
                     f"{copies[of]['high']:.0f})" if of in copies else "" for of in COPIES]
            parts = result["bypassed"][f"{name}/{size}"]
            rows.append([WHAT.get(name, name), size, *cells,
                         *(f"{copies[of]['median'] / plain:.2f}" if of in copies else ""
                           for of in COPIES[2:]),
                         ", ".join(f"{parts[of]:.0%}" for of in COPIES[2:] if of in copies)])
    head, *lines = (", ".join(f'"{text}"' for text in row) for row in rows)
    return "\n".join([".. csv-table:: Cycles of a write, with the work of a system call: median "
                      "(quartiles)", f"   :header: {head}", "", *(f"   {line}" for line in lines)])


def part(result: dict[str, Any]) -> str:
    """Return the part of the page that is made of a block."""
    timed = f"Timed in user space: {machine_words(result)}; ``{result['command']}``, {result['date']}."
    if "minimum" not in result:
        return "\n".join([
            f"{timed} plain and again are the same, rep movsb: their difference is the noise. "
            "always is an older program's: the value 3 of then, which is gone, with a fence for "
            "each page.", "", table(result)]) + "\n"
    lines = complaints(result)
    verdict = ["Slower than they should be:", "", *(f"* {line}." for line in lines)] if lines else [
        "No row in which the default minimum bypasses the caches is slower."]
    return "\n".join([
        f"{timed} plain and again are the same, rep movsb, as with vm.nontemporal_write 0: their "
        f"difference is the noise. default is 2 with the default minimum, {result['minimum']} "
        "bytes, always 2 with a minimum of 512. bypassed: of the bytes of default, and of always.",
        "", *verdict, "", table(result)]) + "\n"


def page(found: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(found, part)
