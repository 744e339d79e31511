#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tables of non-temporal writes: what writers cost a bystander, and where they miss.

  nontemporal.py count OPTION...   boots for all cells, two at a time (options of
                                   model.py run); cells that are there are kept
  nontemporal.py tables            makes Documentation/results/nontemporal.rst

The kernel has the series' options on. Results are kept in
Documentation/results/nontemporal/*.json.

Exit status: 0 done, 1 a boot failed, 2 usage, 130 interrupted.
"""
from __future__ import annotations

import statistics
import sys
from pathlib import Path

import tables
from published import RESULTS, Published, literal, main, spread, wrapped
from result import misses

PERTURB = (0, 10, 100)
# Name in the table, and the words
BYSTANDERS = {
    "alone": ["writers=0"],
    "plain": ["nontemporal=0"],
    "512": ["nontemporal=512"],
    "auto": ["nontemporal=2"],
}
RECORDS = (4096, 65536)
SWITCHES = {"plain": "0", "512": "512", "auto": "2"}
COPIES = ("copy_to_nontemporal", "rep_movs_alternative")
ORIGINAL = "the original's: 0.24 % of the plain copy's L3 read misses"


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model.py run."""
    runs = {f"bystander-{name}-{perturb}": ["bystander", *(f"--set={word}" for word in words), f"--set=perturb={perturb}"]
            for name, words in BYSTANDERS.items() for perturb in PERTURB}
    for record in RECORDS:
        for name, value in SWITCHES.items():
            runs[f"writers-{record}-{name}"] = ["writers", f"--set=record={record}", f"--set=nontemporal={value}"]
    return runs


PUBLISHED = Published(RESULTS / "nontemporal", cells(), "nontemporal.py", COPIES)


def bystander_table() -> str:
    """Return the part about the bystander."""
    first = PUBLISHED.kept("bystander-alone-0")
    words, walks = first["words"], first["labels"]["bystander"]["units"]
    counts = {name: [misses(PUBLISHED.kept(f"bystander-{name}-{perturb}")["labels"]["bystander"], "llc")
                     for perturb in PERTURB] for name in BYSTANDERS}
    alone = statistics.median(counts["alone"])
    rows = [["vm.nontemporal_write_bytes", "LLC misses", "more than alone"]]
    for name, values in counts.items():
        told = {"alone": "nobody writes", "plain": "0", "auto": "2 (auto)"}.get(name, name)
        rows.append([told, spread(values), f"{100 * (statistics.median(values) / alone - 1):.1f} %"])
    head = tables.headline(first).split("\n", 1)[1]
    return literal(
        f"A bystander on a CPU of its own reads {int(words['bystander_kib']) >> 10} MiB {walks} times; before each time but\n"
        f"the first, 4 writers on 4 other CPUs write {int(words['file_kib']) // int(words['laps']) >> 10} MiB each, in records of "
        f"{words['record']} bytes to ext4.\nIts LLC misses in all, of {len(PERTURB)} boots with perturbed memory the median (least..most)\n"
        f"{head}\n\n{tables.columns(rows)}")


def copy_misses(name: str) -> int:
    """Return the LLC misses of the copies of a run of the writers."""
    functions = PUBLISHED.kept(name)["labels"]["writers"]["functions"]
    return sum(misses(function, "llc") for function in functions if function["name"] in COPIES)


def writers_table(record: int) -> str:
    """Return the part about the writers with records of this many bytes."""
    parts = []
    plain = copy_misses(f"writers-{record}-plain")
    for name in SWITCHES:
        result = PUBLISHED.kept(f"writers-{record}-{name}")
        copies = copy_misses(f"writers-{record}-{name}")
        parts += [tables.headline(result), tables.summary(result, "writers"), tables.top_functions(result, "writers", 5)]
        if name != "plain":
            parts.append(f"LLC misses of the copies: {copies}, {100 * copies / plain:.2f} % of {plain} ({ORIGINAL})")
    return literal("\n\n".join(parts))


def pages() -> dict[Path, str]:
    """Return the file that is made of the results, with its text.

    Raises OSError for a cell that is missing, ValueError for one that is of
    another kernel than the others.
    """
    PUBLISHED.check_one_kernel()
    return {RESULTS / "nontemporal.rst": PUBLISHED.note() + "\n".join(
        [bystander_table(), *map(writers_table, RECORDS), literal(wrapped(tables.LIMITS))])}


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", PUBLISHED, pages))
