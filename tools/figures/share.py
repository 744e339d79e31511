# SPDX-License-Identifier: GPL-2.0
"""What another machine timed, as one file: `make bench SHORT=1` writes it, `make results-add FILE=`
takes its blocks into the published tables.

A file is refused as a whole unless today's programs made it of today's series: its blocks have the
fields of the published ones and no other, a name of the host for one.
"""
import json
import math
from pathlib import Path

from tools.figures import store, tables
from tools.figures.cells import Block, Cell, cell_of
from tools.figures.machine import EMULATED, SAME_MODEL, same_model
from tools.figures.measure import keep
from tools.series import series_hash

MACHINE = {*SAME_MODEL, "model name", "copy flags", "caches", "tsc_khz", "hypervisor", "kernel"}
# Fewer than for a block of our own: a figure has to be had in minutes
ROUNDS = 15


def write(file: Path, blocks: dict[str, Block]) -> None:
    """Write blocks by table, as GROUP/NAME. Raises OSError."""
    cells = sum(len(block["cells"]) for block in blocks.values())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"cells": cells, "blocks": blocks}, indent=1, default=Cell.columns)
                    + "\n", encoding="utf-8")


def block_of(read: Block) -> Block:
    """Return a block of a file that was read; raises as faults()."""
    return {**read, "cells": [cell_of(columns) for columns in read["cells"]]}


def faults(table: str, block: Block) -> list[str]:
    """Return what keeps a block out of a table. Raises KeyError, TypeError or ValueError for what
    has not the form of a block."""
    group, name = table.split("/")
    of = tables.find(group, name)
    published = store.read(group, name)["blocks"]
    today = series_hash(store.series_of_today().patches)
    least = max([ROUNDS, *(old["rounds"] for old in published
                           if same_model(old["machine"], block["machine"]))])
    measures = [{cell.measure for cell in each["cells"]} for each in (published[-1], block)]
    found = [f"field {field!r} is not there, or not known" for field in
             [*({*block} ^ {*published[-1]}), *({*block["machine"]} ^ MACHINE)]]
    found += [why for wrong, why in (
        (block["series"] != today, f"of series {block['series']}, here is {today}"),
        (block["depends"] != store.depends(group, of.sources()),
         "not made by the programs of this checkout"),
        (block["rounds"] < least, f"{block['rounds']} rounds, fewer than {least}"),
        (block["machine"]["hypervisor"] == EMULATED, "timed under QEMU's emulation"),
        (measures[0] != measures[1], "it has not the cells of this table")) if wrong]
    found += [f"{cell.name}, {cell.copy}: {cell.low}, {cell.median}, {cell.high}"
              for cell in block["cells"]
              if not (0 < cell.low <= cell.median <= cell.high
                      and all(math.isfinite(value) for value in cell.columns().values()
                              if isinstance(value, float)))]
    if not found and of.short:
        of.short({"blocks": [*published, block]})
    return found


def read(file: Path) -> dict[str, Block]:
    """Return the blocks of a file by table; raises OSError, ValueError with what is wrong."""
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
        blocks = {table: block_of(block) for table, block in whole["blocks"].items()}
        stated = whole["cells"]
        wrong = [f"{table}: {why}" for table in blocks for why in faults(table, blocks[table])]
        counted = sum(len(block["cells"]) for block in blocks.values())
    except KeyError as error:
        raise ValueError(f"{file}: no {error.args[0]!r} where a block of make bench SHORT=1 "
                         "has it") from None
    except (TypeError, AttributeError, IndexError, ValueError):
        raise ValueError(f"{file}: truncated, or not a file of make bench SHORT=1") from None
    if not blocks or counted != stated:
        wrong.append(f"{counted} cells, it says {stated}")
    if wrong:
        raise ValueError(f"{file}: {wrong[0]}")
    return blocks


def add(file: Path) -> list[str]:
    """Take a file's blocks into the published tables, return these. Raises as read()."""
    blocks = read(file)
    for table, block in blocks.items():
        group, name = table.split("/")
        keep(group, block, name)
    return list(blocks)
