# SPDX-License-Identifier: GPL-2.0
"""Rows of timed tables: Documentation/results/GROUP/NAME.csv has a line for each copy in each row
of each CPU model."""
import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tools.figures.machine import cpu_name

Block = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What was timed of a copy: median and quartiles, of some the worst. A table has no column of
    what is None in all its rows."""

    measure: str
    program: str | None = None
    tasks: int | None = None
    reads: int | None = None
    bytes: int | None = None
    # (destination - source) modulo 4 KiB
    delta_first: int | None = None
    delta_last: int | None = None
    copy: str
    # Part of the bytes that bypass the caches
    bypassed: float | None = None
    median: float
    low: float
    high: float
    worst: float | None = None

    @property
    def row(self) -> tuple[object, ...]:
        """What the copies of a row have in common."""
        return (self.measure, self.program, self.tasks, self.reads, self.bytes,
                self.delta_first, self.delta_last)

    @property
    def name(self) -> str:
        """The row in messages."""
        *known, first, last = self.row
        delta = first if first == last else f"{first}-{last}"
        return "/".join(str(value) for value in (*known, delta) if value is not None)

    def columns(self) -> dict[str, Any]:
        """Return what the row has, by the names of columns."""
        return {name: value for name in TYPES if (value := getattr(self, name)) is not None}


WHOLE = ("tasks", "reads", "bytes", "delta_first", "delta_last")
TYPES = {field.name: str if field.name in ("measure", "program", "copy")
         else int if field.name in WHOLE else float for field in fields(Cell)}


def cell_of(columns: Mapping[str, Any]) -> Cell:
    """Return the cell of what columns() returns, or of its text; raises ValueError, TypeError."""
    if unknown := {*columns} - {*TYPES}:
        raise ValueError(f"no column {min(unknown)} is known")
    return Cell(**{name: TYPES[name](value) for name, value in columns.items()})


def csv_of(blocks: list[Block]) -> str:
    """Return the rows of blocks as CSV; the block's number is its place in the table."""
    used = [name for name in TYPES
            if any(getattr(cell, name) is not None for block in blocks for cell in block["cells"])]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["block", "cpu", *used])
    for number, block in enumerate(blocks, 1):
        cpu = cpu_name(block["machine"])
        writer.writerows([number, cpu, *(getattr(cell, name) for name in used)]
                         for cell in block["cells"])
    return text.getvalue()


def with_cells(blocks: list[Block], text: str) -> list[Block]:
    """Return blocks with their rows of a CSV file; raises ValueError, TypeError, KeyError."""
    found: dict[str, list[Cell]] = {str(number): [] for number, _ in enumerate(blocks, 1)}
    for row in csv.DictReader(io.StringIO(text)):
        cells, _ = found[row.pop("block")], row.pop("cpu")
        cells.append(cell_of({name: value for name, value in row.items() if value}))
    return [{**block, "cells": cells}
            for block, cells in zip(blocks, found.values(), strict=True)]


def select(cells: Iterable[Cell], **columns: object) -> list[Cell]:
    """Return the cells that have these values in these columns."""
    return [cell for cell in cells
            if all(getattr(cell, name) == value for name, value in columns.items())]


def by_row(cells: Iterable[Cell], **columns: object) -> list[dict[str, Cell]]:
    """Return the copies of each row by name, of the rows that have these values."""
    found: dict[tuple[object, ...], dict[str, Cell]] = {}
    for cell in select(cells, **columns):
        found.setdefault(cell.row, {})[cell.copy] = cell
    return list(found.values())


def one_row(cells: Iterable[Cell], **columns: object) -> dict[str, Cell]:
    """Return the copies of the one row that has these values by name; raises KeyError."""
    found = by_row(cells, **columns)
    if len(found) != 1:
        raise KeyError(" ".join(f"{name}={value}" for name, value in columns.items()))
    return found[0]
