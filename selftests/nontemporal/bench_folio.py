# SPDX-License-Identifier: GPL-2.0
"""Times buffered writes as vm.nontemporal_write has them copied, in user space on the real CPU:
folio.c, with the tree's own copy_to_nontemporal().

`make bench GROUP=nontemporal` makes Documentation/results/nontemporal/bench_folio.rst. It fails if
2 is slower in a row in which it bypasses the caches, or not faster in fresh folios.
"""
from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from selftests.bench.claims import compare, lines_of, noisy
from selftests.bench.measure import HERE as BENCHES
from selftests.bench.measure import (Measured, assemble, command, machine_words, measures_of,
                                     page_of, summary)
from selftests.results.store import Table

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("folio.c", "../bench/claims.py", "../bench/tsc.h")
COPIES = ("plain", "again", "auto", "always")
# Runs of a row whose two times of plain differ by more than auto may be slower: cycles, or a part
RUNS = 20
ALLOWED = 1.0, 0.01
# A row says something of 2 if more than this part of its bytes bypasses the caches
BYPASSED = 0.5
# Of those, fresh folios of so many bytes and more take at most this part of plain's time
FASTER_BYTES, FASTER = 8192, 0.9
WHAT = {
    "fresh": "new folios in no cache, bytes of each",
    "zeroed": "the same, zeroed just before (init_on_alloc=1)",
    "rewritten": "the same block again and again",
    "rewritten_by_4k": "a file in the page cache, by records of 4 KiB",
    "rewritten_by_8k": "the same, by records of 8 KiB",
    "append": "records at the end of a file",
    "small_file": "a file alone, by 64 KiB, and read",
    "recycled": "a temporary file in the same page frames, by 4 KiB",
    "recycled_and_read": "the same, and read",
    "by_turns": "the same, and as much to cold frames, in turn",
    "read_at_once": "new folios, each read at once",
    "read_later": "new folios, each read 20 us later",
    "fstime": "256 bytes, of a file of 512 KiB",
    "log_pages": "each page of a log 16 times",
    "files_cold": "files of 1 to 64 KiB, for 4 KiB",
    "files_recycled": "the same, in the same page frames",
}


def row_of(program: Path, row: str, rounds: int) -> dict[str, Any]:
    """Time a row once; return by copy its summary, the part that bypassed the caches, and what was
    measured at the start."""
    first, *lines = command(program, row, str(rounds)).splitlines()
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in COPIES}
    for line in lines:
        sample = json.loads(line)
        samples[sample["copy"]].append(sample)
    found = {name: summary([sample["cycles"] for sample in of]) for name, of in samples.items()}
    parts = {name: round(sum(sample["bypassed"] for sample in of) / len(of), 2)
             for name, of in samples.items() if name in ("auto", "always")}
    return {"copies": found, "bypassed": parts, "measured": json.loads(first)}


def compared(row: str, copies: dict[str, Any]) -> dict[str, Any]:
    """Return how auto compares in a row."""
    return compare([(row, *(copies[name]["median"] for name in ("plain", "again", "auto")))],
                   *ALLOWED)


def steady(program: Path, row: str, rounds: int) -> dict[str, Any]:
    """Time a row, again while its two times of plain differ; auto decides nothing here."""
    for _ in range(RUNS):
        found = row_of(program, row, rounds)
        plain, again = (found["copies"][name]["median"] for name in ("plain", "again"))
        if not noisy(plain, again, max(ALLOWED[0], ALLOWED[1] * plain)):
            break
    return found


def run(tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own. Raises BenchError."""
    cells: dict[str, Measured] = {}
    bypassed: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "folio"
        objects = assemble(tree, Path(directory),
                           (("copy_user_uncached_64.S", "nontemporal.o", []),))
        command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", f"-I{BENCHES}", "-o",
                program, HERE / "folio.c", *objects)
        for row in command(program, "list").split():
            found = steady(program, row, rounds)
            name, _, size = row.partition("/")
            cells.setdefault(name, {})[size] = found["copies"]
            bypassed[row] = found["bypassed"]
        print(f"folio: {len(bypassed)} rows: {rounds} rounds", flush=True)
    return {"cells": cells, "bypassed": bypassed, "measured": found["measured"]}


def counted(block: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the rows of a block in which auto bypasses the caches: their copies, by name."""
    rows = {f"{name}/{size}": copies for name, sizes in measures_of(block).items()
            for size, copies in sizes.items()}
    return {row: copies for row, copies in rows.items()
            if block["bypassed"][row]["auto"] > BYPASSED}


def complaints(block: dict[str, Any]) -> list[str]:
    """Return a line for each row that counts in which auto is slower, or not as fast as fresh
    folios are to be."""
    found = []
    for row, copies in counted(block).items():
        found += lines_of(compared(row, copies))
        name, _, size = row.partition("/")
        part = copies["auto"]["median"] / copies["plain"]["median"]
        if name == "fresh" and int(size) >= FASTER_BYTES and part > FASTER:
            found.append(f"{row}: auto takes {part:.2f} of plain's time, more than {FASTER:g}")
    return found


def table(result: dict[str, Any]) -> str:
    """Return the measures as an rst table."""
    rows = [["what", "bytes", *COPIES, "auto: plain", "always: plain", "bypassed"]]
    for name, sizes in result["measures"].items():
        for size, copies in sizes.items():
            plain = copies["plain"]["median"]
            cells = [f"{of['median']:.0f} ({of['low']:.0f} to {of['high']:.0f})"
                     for of in (copies[name] for name in COPIES)]
            parts = result["bypassed"][f"{name}/{size}"]
            rows.append([WHAT[name], size, *cells,
                         *(f"{copies[of]['median'] / plain:.2f}" for of in ("auto", "always")),
                         f"{parts['auto']:.0%}, {parts['always']:.0%}"])
    head, *lines = (", ".join(f'"{text}"' for text in row) for row in rows)
    return "\n".join([".. csv-table:: Cycles of a write, with the work of a system call: median "
                      "(quartiles)", f"   :header: {head}", "", *(f"   {line}" for line in lines)])


def part(result: dict[str, Any]) -> str:
    """Return the part of the page that is made of a block."""
    measured, rows, lines = result["measured"], counted(result), complaints(result)
    verdict = "\n".join(["slower or not faster where it should be:", *(f"  {line}." for line in lines)]
                        if lines else ["none is slower."])
    shown = (f"In {len(rows)} of {len(result['bypassed'])} rows auto bypasses the caches; {verdict}"
             if rows else "auto bypasses the caches in no row: nothing of it is shown here.")
    return "\n".join([
        f"Timed in user space: {machine_words(result)}; ``{result['command']}``, "
        f"{result['date']}. plain and again are the same, rep movsb, as with vm.nontemporal_write "
        "0: their difference is the noise. auto is what 2 does on this CPU, always what 3 does. "
        "bypassed: of the bytes of auto, and of always. 16 KiB to memory that was flushed take "
        f"{measured['plain']} cycles, past the caches {measured['nontemporal']}; a load that misses "
        f"takes {measured['miss']}.", "",
        f"* {shown}", "", table(result)]) + "\n"


def page(found: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(found, part)
