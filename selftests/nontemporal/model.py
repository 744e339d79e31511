# SPDX-License-Identifier: GPL-2.0
"""The tables of non-temporal writes: what writers cost a bystander, where they miss, and what a
write costs that has nothing of it.

`make model-tables GROUP=nontemporal` makes Documentation/results/nontemporal/model.rst.
"""
from __future__ import annotations

import statistics
from typing import Any

from tools.figures.store import Table
from tools.model import tables
from tools.model.published import Published, literal, result_of, spread, wrapped
from tools.model.result import misses

PERTURB = (0, 10, 100)
# Name in the table, its title there, and the words for the guest: value and minimum
SWITCHES = {"plain": ("0", "0"), "bypass": ("2, from 4096 bytes on", "2:4096"),
            "original": ("2, from 512 bytes on", "2:512")}
# By the default minimum for programs that ask
RECORD = 65536
ASKED = {"plain-64k": ("0, records of 64 KiB", "0", []),
         "asked-64k": ("1, records of 64 KiB of programs that ask", "1", ["--set=noreuse=1"])}
PRESSURE = "--set=pressure=1"
ALONE = "alone"
BYSTANDERS = {ALONE: ("nobody writes", ["--set=writers=0"])} | {
    name: (title, [f"--set=nontemporal={word}"]) for name, (title, word) in SWITCHES.items()} | {
    name: (title, [f"--set=nontemporal={word}", f"--set=record={RECORD}", *more])
    for name, (title, word, more) in ASKED.items()} | {
    f"{name}-pressure": (f"{SWITCHES[name][0]}, with writeback and reclaim",
                         [f"--set=nontemporal={SWITCHES[name][1]}", PRESSURE])
    for name in ("plain", "bypass")}
LAPS = ["--set=laps=4"]
RECORDS = (4096,)
# Nothing applies to data in the page cache, but of 512 and 4096 bytes each folio is asked
WRITES = {"off": "0", "on": "2:512"}
COPIES = ("copy_lines_nontemporal", "rep_movs_alternative")
FUNCTIONS = 5
ORIGINAL = "the original's: 0.24 % of the plain copy's L3 read misses"


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model run."""
    runs = {f"bystander-{name}-{perturb}": ["bystander", *LAPS, *words, f"--set=perturb={perturb}"]
            for name, (_, words) in BYSTANDERS.items() for perturb in PERTURB}
    runs |= {f"writers-{record}-{name}": ["writers", f"--set=record={record}",
                                          f"--set=nontemporal={word}"]
             for record in RECORDS for name, (_, word) in SWITCHES.items()}
    runs |= {f"writes-{name}": ["writes", f"--set=nontemporal={word}"]
             for name, word in WRITES.items()}
    return {name: [*options, "--append=init_on_alloc=0"] for name, options in runs.items()}


def kept(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the page needs of a boot: the bystander's LLC misses, the writers' with the first
    functions, or the instructions of a write."""
    if name.startswith("writes"):
        return {label: {"units": counts["units"],
                        "instructions": counts["executed"]["instructions"]}
                for label, counts in result["labels"].items()}
    if name.startswith("bystander"):
        label = result["labels"]["bystander"]
        return {"bystander": {"units": label["units"], "llc": misses(label, "llc")}}
    label = result["labels"]["writers"]
    first = tables.by_misses(label["functions"], tables.last_level(label))[:FUNCTIONS]
    functions = [{key: value for key, value in function.items() if key != "writebacks"}
                 for function in label["functions"]
                 if function in first or function["name"] in COPIES]
    keys = ("units", "load_misses", "store_misses", "kinds", "writebacks", "stores_nt")
    return {"writers": {**{key: label[key] for key in keys}, "functions": functions}}


def bystander_table(table: Table) -> str:
    """Return the part about the bystander."""
    first = result_of(table, f"bystander-{ALONE}-0")
    words, walks = first["words"], first["labels"]["bystander"]["units"]
    cells = table["cells"]
    counts = {name: [cells[f"bystander-{name}-{perturb}/bystander"]["llc"] for perturb in PERTURB]
              for name in BYSTANDERS}
    alone = statistics.median(counts[ALONE])
    rows = [["vm.nontemporal_write", "LLC misses", "more than alone"]]
    for name, values in counts.items():
        more = 100 * (statistics.median(values) / alone - 1)
        rows.append([BYSTANDERS[name][0], spread(values), f"{more:.1f} %"])
    head = tables.headline(first).split("\n", 1)[1]
    read = int(words["bystander_kib"]) >> 10
    written = int(words["file_kib"]) // int(words["laps"]) >> 10
    return literal(
        f"A bystander on a CPU of its own reads {read} MiB {walks} times; before each time but\n"
        f"the first, 4 writers on 4 other CPUs write {written} MiB each, in records of "
        f"{words['record']} bytes to ext4.\nIts LLC misses in all, of {len(PERTURB)} boots with "
        f"perturbed memory the median (least..most)\n{head}\n\n{tables.columns(rows)}")


def copy_misses(table: Table, name: str) -> int:
    """Return the LLC misses of the copies of a run of the writers."""
    functions = table["cells"][f"{name}/writers"]["functions"]
    return sum(misses(function, "llc") for function in functions if function["name"] in COPIES)


def writers_table(table: Table, record: int) -> str:
    """Return the part about the writers with records of this many bytes."""
    parts = []
    plain = copy_misses(table, f"writers-{record}-plain")
    for name in SWITCHES:
        result = result_of(table, f"writers-{record}-{name}")
        copies = copy_misses(table, f"writers-{record}-{name}")
        parts += [tables.headline(result), tables.summary(result, "writers"),
                  tables.top_functions(result, "writers", FUNCTIONS)]
        if name != "plain":
            parts.append(f"LLC misses of the copies: {copies}, {100 * copies / plain:.2f} % of "
                         f"{plain} ({ORIGINAL})")
    return literal("\n\n".join(parts))


def writes_table(table: Table) -> str:
    """Return the part about writes to which nothing of it applies."""
    result = result_of(table, "writes-off")
    labels = [name.split("/")[1] for name in table["cells"] if name.startswith("writes-off/")]
    rows = [["instructions of a write()", "vm.nontemporal_write 0", "2"]]
    for label in labels:
        counts = [table["cells"][f"writes-{name}/{label}"] for name in WRITES]
        rows.append([f"{label.removeprefix('write_')} bytes",
                     *(f"{count['instructions'] / count['units']:.0f}" for count in counts)])
    return literal(
        f"Data in the page cache that is written again, {result['words']['calls']} times, from and "
        f"back to user mode\n{tables.headline(result).split(chr(10), 1)[1]}\n\n"
        f"{tables.columns(rows)}")


def page(table: Table) -> str:
    """Return the page, without its head."""
    return "\n".join([bystander_table(table), writes_table(table),
                      *(writers_table(table, record) for record in RECORDS),
                      literal(wrapped(tables.LIMITS))])


PUBLISHED = Published("nontemporal", cells(), kept, ("NONTEMPORAL_WRITE",))
