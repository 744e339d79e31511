# SPDX-License-Identifier: GPL-2.0
"""Figures in prose: selftests/GROUP/quotes lists sentences with what each figure in them is.

A quote is a line with a file of the repository, a colon and a part of a sentence, with a format of
Python for each figure; below it, indented, a line with an expression for each:

  README.md: 8 bytes, hot: {:.1f} cycles
      timed("usercopy/bench", "Zen 3", "hot/8", "fsrm")

The file must have the sentence with the figures of today's tables; where it breaks lines does not
matter. Lines that begin with # are comments. What an expression can use is in NAMES; v[0] is the
first figure of its sentence.
"""
from __future__ import annotations

import fnmatch
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selftests.results import store
from selftests.results.cpus import cpu_name
from selftests.results.store import ROOT, Table


def table_of(name: str) -> Table:
    """Return the table GROUP/TABLE; raises as store.read()."""
    group, _, table = name.partition("/")
    return store.read(group, table)


def block(table: str, cpu: str) -> Table:
    """Return a CPU model's block of a timed table, the last one if two have its name.

    table: GROUP/TABLE; cpu: as selftests/results/cpus.py names it. Raises KeyError for no block.
    """
    for found in reversed(table_of(table)["blocks"]):
        if cpu_name(found["machine"]) == cpu:
            return dict(found)
    raise KeyError(f"{table} has no block of {cpu}")


def timed(table: str, cpu: str, cell: str, copy: str, which: int = 0) -> float:
    """Return the median of a copy in a cell of block(); which: 1 and 2 are the quartiles."""
    return float(block(table, cpu)["cells"][cell][copy][which])


def cells(table: str, pattern: str) -> list[Any]:
    """Return the cells of a modelled or counted table that a pattern of a shell names; raises
    KeyError for none."""
    found = [cell for name, cell in table_of(table)["cells"].items()
             if fnmatch.fnmatchcase(name, pattern)]
    if not found:
        raise KeyError(f"{table} has no cell {pattern}")
    return found


def times(table: str, cpu: str, cell: str, copy: str, of: str) -> float:
    """Return how many times as long a copy takes as another one takes; arguments as of timed()."""
    return timed(table, cpu, cell, copy) / timed(table, cpu, cell, of)


def per_unit(table: str, pattern: str, key: str) -> float:
    """Return the mean of a count per unit of the cells that a pattern names; raises as cells()."""
    return statistics.mean(cell[key] / cell["units"] for cell in cells(table, pattern))


def missed(table: str, cell: str, level: str, *functions: str) -> int:
    """Return the misses of loads and stores at a level in a modelled cell, only those of functions
    if patterns of their names are given."""
    found, = cells(table, cell)
    parts = [of for of in found["functions"]
             if any(fnmatch.fnmatchcase(of["name"], name) for name in functions)]
    parts = parts if functions else [found]
    return sum(part[key][level] for part in parts for key in ("load_misses", "store_misses"))


NAMES = {"block": block, "timed": timed, "times": times, "cells": cells, "per_unit": per_unit,
         "missed": missed, "median": statistics.median, "max": max}


@dataclass(frozen=True)
class Quote:
    """A part of a sentence in a file of the repository, and its figures' expressions."""

    file: str
    sentence: str
    figures: tuple[str, ...]

    def said(self) -> str:
        """Return the sentence with today's figures; raises ValueError for an expression that has
        none, or a format that does not fit."""
        values: list[Any] = []
        for figure in self.figures:
            try:
                # The files are the repository's own, as each test is
                values.append(eval(figure, {"__builtins__": {}, **NAMES, "v": values}))
            except (LookupError, NameError, SyntaxError, TypeError, ArithmeticError) as error:
                raise ValueError(f"{figure}: {error}") from error
        try:
            text = self.sentence.format(*values)
        except (LookupError, ValueError) as error:
            raise ValueError(f"{self.sentence}: {error}") from error
        if self.sentence.count("{") != len(values) or not values:
            raise ValueError(f"{self.sentence}: {len(values)} figures")
        return text


def parse(text: str) -> list[Quote]:
    """Return the quotes of a list; raises ValueError for a line that is none."""
    found: list[Quote] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        file, colon, sentence = line.partition(": ")
        if line.startswith(" ") and found:
            last = found.pop()
            found.append(Quote(last.file, last.sentence, (*last.figures, line.strip())))
        elif colon and not line.startswith(" "):
            found.append(Quote(file, sentence.strip(), ()))
        else:
            raise ValueError(f"no quote: {line}")
    return found


def quotes() -> Iterator[Quote]:
    """Return the quotes of all groups; raises OSError and as parse()."""
    for path in sorted(ROOT.glob("selftests/*/quotes")):
        yield from parse(path.read_text(encoding="utf-8"))


def plain(text: str) -> str:
    """Return a text in one line."""
    return re.sub(r"\s+", " ", text)


def differs(quote: Quote, text: str) -> str:
    """Return what a file's text should say and does not, "" if it does."""
    try:
        said = quote.said()
    except ValueError as error:
        return f"{quote.file}: {error}"
    return "" if plain(said) in plain(text) else f"{quote.file} should say: {said}"


def unquoted(text: str, columns: tuple[str, ...], found: list[Quote]) -> list[str]:
    """Return the cells of a Markdown table's columns with a figure that no quote has.

    text: of a page; columns: heads of the table's columns; found: quotes of that page.
    """
    said, bad = [quote.said() for quote in found], []
    lines = [line for line in text.splitlines() if line.startswith("|")]
    heads: list[str] = []
    for line in lines:
        row = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if set(columns) <= set(row):
            heads = row
        elif heads and len(row) == len(heads):
            for cell in (row[heads.index(column)] for column in columns):
                rest = cell
                for part in sorted(said, key=len, reverse=True):
                    rest = rest.replace(part, "")
                if re.search(r"\d", rest):
                    bad.append(f"no quote has all figures of: {cell}")
        else:
            heads = []
    return bad


def problems(root: Path = ROOT) -> list[str]:
    """Return each quote that its file does not say, and figures of README that no quote has."""
    known = list(quotes())
    texts = {file: (root / file).read_text(encoding="utf-8")
             for file in {quote.file for quote in known} | {"README.md"}}
    found = [problem for quote in known if (problem := differs(quote, texts[quote.file]))]
    if found:
        return found
    return unquoted(texts["README.md"], ("gain", "cost and loss"),
                    [quote for quote in known if quote.file == "README.md"])
