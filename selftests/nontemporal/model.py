# SPDX-License-Identifier: GPL-2.0
"""The tables of non-temporal writes: what writers cost a bystander, and where they miss.

`make model-tables GROUP=nontemporal` makes Documentation/results/nontemporal/model.rst.
"""
from __future__ import annotations

import statistics
from typing import Any

from selftests.model import tables
from selftests.model.published import Published, literal, result_of, spread, wrapped
from selftests.model.result import misses
from selftests.results.store import Table

PERTURB = (0, 10, 100)
# Name in the table, and the word
BYSTANDERS = {"alone": "writers=0", "plain": "nontemporal=0", "512": "nontemporal=512",
              "auto": "nontemporal=2"}
RECORDS = (4096, 65536)
SWITCHES = {"plain": "0", "512": "512", "auto": "2"}
COPIES = ("copy_to_nontemporal", "rep_movs_alternative")
FUNCTIONS = 5
ORIGINAL = "the original's: 0.24 % of the plain copy's L3 read misses"


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model run."""
    runs = {f"bystander-{name}-{perturb}": ["bystander", f"--set={word}",
                                            f"--set=perturb={perturb}"]
            for name, word in BYSTANDERS.items() for perturb in PERTURB}
    return runs | {f"writers-{record}-{name}": ["writers", f"--set=record={record}",
                                                f"--set=nontemporal={value}"]
                   for record in RECORDS for name, value in SWITCHES.items()}


def kept(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the page needs of a boot: the bystander's LLC misses, or the writers' with the
    first functions."""
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
    first = result_of(table, "bystander-alone-0")
    words, walks = first["words"], first["labels"]["bystander"]["units"]
    cells = table["cells"]
    counts = {name: [cells[f"bystander-{name}-{perturb}/bystander"]["llc"] for perturb in PERTURB]
              for name in BYSTANDERS}
    alone = statistics.median(counts["alone"])
    titles = {"alone": "nobody writes", "plain": "0", "auto": "2 (auto)"}
    rows = [["vm.nontemporal_write_bytes", "LLC misses", "more than alone"]]
    for name, values in counts.items():
        more = 100 * (statistics.median(values) / alone - 1)
        rows.append([titles.get(name, name), spread(values), f"{more:.1f} %"])
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


def page(table: Table) -> str:
    """Return the page, without its head."""
    return "\n".join([bystander_table(table), *(writers_table(table, record) for record in RECORDS),
                      literal(wrapped(tables.LIMITS))])


PUBLISHED = Published("nontemporal", cells(), kept, ("NONTEMPORAL_WRITE",))
