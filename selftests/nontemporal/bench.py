# SPDX-License-Identifier: GPL-2.0
"""Times non-temporal writes, in user space on the real CPU: stream.c, with the tree's own routines.

`make bench GROUP=nontemporal` makes Documentation/results/nontemporal/bench.rst.
"""
from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from selftests.bench.measure import HERE as BENCHES
from selftests.bench.measure import assemble, command, machine_words, page_of, samples
from selftests.results.store import Table

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("stream.c", "copy_prefetch.S")
MEASURES = ("rate", "victim", "victim4", "again", "readback")
COPIES = ("fsrm", "movsq", "unrolled", "nontemporal", "prefetch", "glibc")


def build(tree: Path, directory: Path) -> Path:
    """Assemble the tree's routines, unchanged, and link stream.c with them."""
    objects = assemble(tree, directory, (("copy_user_uncached_64.S", "nontemporal.o", []),
                                         ("copy_user_64.S", "movsq.o", ["-DSYM_SUFFIX=_movsq"])))
    program = directory / "stream"
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", f"-I{BENCHES}", "-o",
            program, HERE / "stream.c", HERE / "copy_prefetch.S", *objects)
    return program


def run(tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own."""
    with tempfile.TemporaryDirectory() as directory:
        program = build(tree, Path(directory))
        return {"cells": {measure: samples(program, measure, rounds) for measure in MEASURES}}


def size_of(text: str) -> str:
    """Return a number of bytes as one writes it."""
    size = int(text)
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def rows_of(result: dict[str, Any], measure: str) -> list[list[str]]:
    """Return the rows of a measure: medians of each copy, then the noise in percent."""
    rows = []
    for size, copies in result["measures"][measure].items():
        if measure.startswith("victim"):
            names = [*COPIES, "idle"]
            warm = statistics.median(copies[f"{name}_warm"]["median"] for name in names)
            medians = {name: copies[name]["median"] for name in names}
            cells = [f"{warm:.1f}", *(f"{of:.1f} ({of / warm:.1f})" for of in medians.values())]
        else:
            cells = [f"{copies[name]['median']:.2f}" for name in COPIES]
        noise = abs(copies["fsrm_again"]["median"] / copies["fsrm"]["median"] - 1)
        rows.append([size_of(size), *cells, f"{100 * noise:.0f} %"])
    return rows


WALK = (
    "A walk along a chain of pointers, warm, and after {} MiB were written in pieces of 64 KiB: "
    "cycles for each pointer (times the warm figure); idle: nothing was written, for as long")
HEADS = {
    "rate": ("64 MiB from a hot buffer of 64 KiB (larger pieces: from a buffer of their size) to "
             "memory that is in no cache, by the size of a piece: cycles for 64 bytes", ["piece"]),
    "victim": (WALK.format(64), ["walk through", "warm"]),
    "victim4": (WALK.format(4), ["walk through", "warm"]),
    "again": ("Written over and over: cycles for 64 bytes. The data stays in the caches as long as "
              "it fits: here non-temporal stores lose", ["bytes"]),
    "readback": ("Written to memory that is in no cache, and read at once: cycles for 64 bytes, "
                 "both together. Here non-temporal stores lose as long as the data would have fit",
                 ["bytes"]),
}
ABOUT = (
    "Noise: the difference between two turns of the same copy, fsrm. fsrm is mainline's copy on a "
    "CPU with that flag, movsq (rep_movs_alternative) that on one without FSRM and ERMS, "
    "nontemporal copy_to_nontemporal(): all as they stand in the tree. unrolled and prefetch, the "
    "same with prefetchnta as in 2005, are routines of the benchmark; glibc is its memcpy().")


def table(result: dict[str, Any], measure: str) -> str:
    """Return a measure as an rst table."""
    title, first = HEADS[measure]
    idle = ["idle"] if measure.startswith("victim") else []
    head, *lines = (", ".join(f'"{cell}"' for cell in row)
                    for row in [[*first, *COPIES, *idle, "noise"], *rows_of(result, measure)])
    return "\n".join([f".. csv-table:: {title}", f"   :header: {head}", "",
                      *(f"   {line}" for line in lines)]) + "\n"


def part(result: dict[str, Any]) -> str:
    """Return the part of the page that is made of a block."""
    return "\n".join([
        f"Timed in user space: {machine_words(result)}; medians of {result['rounds']} rounds in "
        f"which the copies take turns; ``{result['command']}``, {result['date']}. {ABOUT}", "",
        *(table(result, measure) for measure in MEASURES)])


def page(table: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(table, part)
