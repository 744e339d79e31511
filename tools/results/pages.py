# SPDX-License-Identifier: GPL-2.0
"""Tables in the pages of Documentation/, as text that each viewer shows: between two marks that
name it stands a table's short form, or its whole page if it has none.

  .. begin of results/GROUP/TABLE.rst
  .. end of results/GROUP/TABLE.rst

The short form is made by the function TABLE of selftests/GROUP/short.py. That file is apart from
the table's program, so that another form makes no table stale. README.md has its table of gains
between <!-- begin of gains --> and <!-- end of gains -->: the rows of gains() of each short.py.
"""
from __future__ import annotations

import importlib
import re
import textwrap
from pathlib import Path
from typing import Any

from tools.results import store
from tools.results.figures import Row
from tools.results.store import ROOT, Table

AREA = re.compile(r"^((?:\.\.|<!--) begin of (results/(\w+)/(\w+)\.rst|gains)(?: -->)?\n)"
                  r"(.*?)^((?:\.\.|<!--) end of \2(?: -->)?\n)", re.M | re.S)
MARK = re.compile(r"^(?:\.\.|<!--) (?:begin|end) of (?:results/|gains)", re.M)
WIDTH = 118  # of README's lines
INCLUDE = re.compile(r"^\s*\.\. include::", re.M)


def documents() -> list[Path]:
    """Return all pages that may have marks: README and those of Documentation/."""
    return [ROOT / "README.md", *sorted((ROOT / "Documentation").glob("*.rst"))]


def form(group: str, name: str) -> Any:
    """Return what a group's short.py has of that name, None if there is none."""
    if not (ROOT / f"selftests/{group}/short.py").is_file():
        return None
    return getattr(importlib.import_module(f"selftests.{group}.short"), name, None)


def short(group: str, name: str, table: Table) -> str:
    """Return what a page has of a table: its short form, or its page without the head."""
    made = form(group, name) or importlib.import_module(f"selftests.{group}.{name}").page
    return str(made(table)).strip("\n")


def gain_rows() -> dict[str, list[Row]]:
    """Return the rows of each group in the order of the series, but first those with RECOMMENDED in
    short.py; raises OSError, ValueError and KeyError for figures that no published table has."""
    names = sorted((group.name for group in store.queue_of_today().groups),
                   key=lambda name: not form(name, "RECOMMENDED"))
    found = {name: form(name, "gains") for name in names}
    return {name: rows() for name, rows in found.items() if rows}


def gains() -> str:
    """Return README's table and the list of costs under it; raises as gain_rows()."""
    table = ["| option | best for | before → after | evidence |", "|---|---|---|---|"]
    costs: list[str] = []
    for rows in gain_rows().values():
        for row in rows:
            table.append(f"| {' | '.join(row[:-1])} |")
            costs += textwrap.wrap(row.cost and f"* {row.option}: {row.cost}", WIDTH,
                                   subsequent_indent="  ", break_long_words=False,
                                   break_on_hyphens=False)
    return "\n".join([*table, "", "What it costs, and where it is slower:", "", *costs])


def filled(text: str) -> str:
    """Return a page with the tables of today between its marks.

    Raises as gains(), and ValueError for marks that are no pair.
    """
    if len(MARK.findall(text)) != 2 * len(AREA.findall(text)):
        raise ValueError("a mark of a table has no other end")

    def area(match: re.Match[str]) -> str:
        begin, _, group, name, _, end = match.groups()
        made = short(group, name, store.read(group, name)) if group else gains()
        return f"{begin}\n{made}\n\n{end}"
    return AREA.sub(area, text)


def problems(text: str) -> list[str]:
    """Return what is wrong with the tables of a page; raises as filled()."""
    found = ["a table is included, which code hosts do not show"] if INCLUDE.search(text) else []
    made = AREA.findall(filled(text))
    return found + [f"{old[1]}: the page differs from the table: python -m tools.results pages"
                    for old, new in zip(AREA.findall(text), made, strict=True) if old != new]


def fill() -> None:
    """Write today's tables between the marks of all pages; raises as filled()."""
    for path in documents():
        text = path.read_text(encoding="utf-8")
        if (made := filled(text)) != text:
            store.write_whole(path, made)
