# SPDX-License-Identifier: GPL-2.0
"""What another machine timed, as one file: `make bench SHORT=1` writes it, `make results-add FILE=`
takes its blocks into the published tables.

A file is refused as a whole unless today's programs made it of today's series: its blocks have the
fields of the published ones and no other, a name of the host for one.
"""
from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from selftests.bench.measure import files_of, keep, shown
from selftests.results import store
from selftests.results.machine import SAME_MODEL, same_model

MACHINE = {*SAME_MODEL, "model name", "copy flags", "caches", "tsc_khz", "hypervisor", "kernel"}
# Fewer than for a block of our own: a figure has to be had in minutes
ROUNDS = 15

Block = dict[str, Any]


def write(file: Path, blocks: dict[str, Block]) -> None:
    """Write blocks by table, as GROUP/NAME. Raises OSError."""
    cells = sum(len(block["cells"]) for block in blocks.values())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"cells": cells, "blocks": blocks}, indent=1) + "\n", encoding="utf-8")


def measures(block: Block) -> set[str]:
    """Return what a block measures: the first word of its cells."""
    return {cell.partition("/")[0] for cell in block["cells"]}


def faulty_cell(block: Block) -> str:
    """Return the first figure that is no median between its quartiles, "" if there is none."""
    for cell, copies in block["cells"].items():
        for copy, figures in copies.items():
            median, low, high = figures[:3]
            if not all(map(math.isfinite, figures)) or not 0 < low <= median <= high:
                return f"{cell}, {copy}: {figures}"
    return ""


def fault(table: str, block: Block) -> str:
    """Return what keeps a block out of a table, "" if nothing does. Raises KeyError, TypeError or
    ValueError for what has not the form of a block."""
    group, name = table.split("/")
    published = store.read(group, name)["blocks"]
    fields = sorted({*block} ^ {*published[-1]}) + sorted({*block["machine"]} ^ MACHINE)
    better = [old for old in published
              if same_model(old["machine"], block["machine"]) and old["rounds"] > block["rounds"]]
    if fields:
        return f"field {fields[0]!r} is not there, or not known"
    if block["series"] != (today := store.series_hash(store.queue_of_today())):
        return f"of series {block['series']}, here is {today}"
    if block["depends"] != store.depends(group, files_of(group, name)):
        return "not made by the programs of this checkout"
    if block["rounds"] < ROUNDS or better:
        return f"{block['rounds']} rounds, fewer than {better[0]['rounds'] if better else ROUNDS}"
    if measures(block) != measures(published[-1]):
        return "it has not the cells of this table"
    if cell := faulty_cell(block):
        return cell
    shown(group, name, block)
    return ""


def read(file: Path) -> dict[str, Block]:
    """Return the blocks of a file by table; raises OSError, ValueError with what is wrong."""
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
        blocks, stated = dict(whole["blocks"]), whole["cells"]
        wrong = [f"{table}: {why}" for table, block in blocks.items() if (why := fault(table, block))]
        counted = sum(len(block["cells"]) for block in blocks.values())
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise ValueError(f"{file}: truncated, or no file of make bench SHORT=1 "
                         f"({type(error).__name__}: {error})") from None
    if not wrong and (not blocks or counted != stated):
        wrong = [f"{counted} cells, it says {stated}"]
    if wrong:
        raise ValueError(f"{file}: {wrong[0]}")
    return blocks


def add(file: Path) -> list[str]:
    """Take a file's blocks into the published tables; return a line for each. Raises as read()."""
    lines = []
    for table, block in read(file).items():
        group, name = table.split("/")
        old = [other for other in store.read(group, name)["blocks"]
               if same_model(other["machine"], block["machine"])]
        keep(group, block, name)
        lines.append(f"{table}: a block is {'replaced' if old else 'added'}")
    return lines
