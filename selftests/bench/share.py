# SPDX-License-Identifier: GPL-2.0
"""What another machine timed, as one file: `make bench SHORT=1` writes it, `make results-add FILE=`
takes its blocks into the published tables.

A file is refused as a whole unless it is what today's programs make of today's series: its blocks
have no field but those of the published ones, so that no name of a host gets in.
"""
from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

from selftests.bench.measure import keep
from selftests.results import store
from selftests.results.machine import SAME_MODEL

MACHINE = {*SAME_MODEL, "model name", "copy flags", "caches", "tsc_khz", "hypervisor", "kernel"}
# Fewer rounds than for a block of our own: a figure has to be had in minutes
ROUNDS = 15

Block = dict[str, Any]


def cells_in(blocks: dict[str, Block]) -> int:
    """Return how many cells blocks have together."""
    return sum(len(block["cells"]) for block in blocks.values())


def write(file: Path, blocks: dict[str, Block]) -> None:
    """Write blocks by table, as GROUP/NAME. Raises ValueError if this host's name is in them."""
    text = json.dumps({"cells": cells_in(blocks), "blocks": blocks}, indent=1) + "\n"
    if len(platform.node()) > 2 and f'"{platform.node()}' in text:
        raise ValueError(f"not written: the name of this host, {platform.node()}, is in it")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def fault(table: str, block: Block) -> str:
    """Return what keeps a block out of a table, "" if nothing does; raises KeyError for no table."""
    published = store.read(*table.split("/"))["blocks"]
    known = {"depends", *(key for other in published for key in other)}
    if unknown := sorted({*block} - known) + sorted({*block["machine"]} - MACHINE):
        return f"{table}: field {unknown[0]!r} is not known"
    if block["series"] != (today := store.series_hash(store.queue_of_today())):
        return f"{table}: of series {block['series']}, here is {today}"
    if changed := store.changes(block):
        return f"{table}: not of these programs: {changed}"
    for cell, copies in block["cells"].items():
        for copy, (median, low, high, *_) in copies.items():
            if not 0 < low <= median <= high:
                return f"{table}: {cell}, {copy}: {median} is not between {low} and {high}"
    return ""


def read(file: Path) -> dict[str, Block]:
    """Return the blocks of a file by table; raises OSError, ValueError with what is wrong."""
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
        blocks, stated = whole["blocks"], whole["cells"]
        wrong = next(filter(None, (fault(table, block) for table, block in blocks.items())), "")
        counted = cells_in(blocks)
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file}: truncated, or no file of make bench SHORT=1 ({error})") from None
    if not wrong and counted != stated:
        wrong = f"{counted} cells, it says {stated}"
    if wrong or not blocks:
        raise ValueError(f"{file}: {wrong or 'no block'}")
    return blocks


def add(file: Path) -> list[str]:
    """Take a file's blocks into the published tables; return their names. Raises as read()."""
    blocks = read(file)
    for table, block in blocks.items():
        group, name = table.split("/")
        keep(group, block, name)
    return list(blocks)
