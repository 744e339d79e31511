# SPDX-License-Identifier: GPL-2.0
"""Tables in the pages of Documentation/, as text that each viewer shows: between two marks that
name it stands a table's short form, or its whole page if it has none.

  .. begin of results/GROUP/TABLE.rst
  .. end of results/GROUP/TABLE.rst

The short form is made by the function TABLE of selftests/GROUP/short.py. That file is apart from
the table's program, so that another form makes no table stale.
"""
from __future__ import annotations

import importlib
import re
from pathlib import Path

from selftests.results import store
from selftests.results.store import ROOT, Table

AREA = re.compile(r"^\.\. begin of results/(\w+)/(\w+)\.rst\n(.*?)"
                  r"^\.\. end of results/\1/\2\.rst\n", re.M | re.S)
MARK = re.compile(r"^\.\. (?:begin|end) of results/", re.M)
INCLUDE = re.compile(r"^\s*\.\. include::", re.M)


def documents() -> list[Path]:
    """Return all pages that may have marks: README and those of Documentation/."""
    return [ROOT / "README.md", *sorted((ROOT / "Documentation").glob("*.rst"))]


def short(group: str, name: str, table: Table) -> str:
    """Return what a page has of a table: its short form, or its page without the head."""
    form = None
    if (ROOT / f"selftests/{group}/short.py").is_file():
        form = getattr(importlib.import_module(f"selftests.{group}.short"), name, None)
    made = form or importlib.import_module(f"selftests.{group}.{name}").page
    return str(made(table)).strip("\n")


def filled(text: str) -> str:
    """Return a page with the tables of today between its marks.

    Raises OSError and ValueError for marks that name no table, or that are no pair.
    """
    if len(MARK.findall(text)) != 2 * len(AREA.findall(text)):
        raise ValueError("a mark of a table has no other end")

    def area(match: re.Match[str]) -> str:
        group, name = match[1], match[2]
        where = f"results/{group}/{name}.rst"
        made = short(group, name, store.read(group, name))
        return f".. begin of {where}\n\n{made}\n\n.. end of {where}\n"
    return AREA.sub(area, text)


def problems(text: str) -> list[str]:
    """Return what is wrong with the tables of a page; raises as filled()."""
    found = ["a table is included, which code hosts do not show"] if INCLUDE.search(text) else []
    made = AREA.findall(filled(text))
    return found + [f"results/{old[0]}/{old[1]}.rst: the page differs from the table: "
                    "python -m selftests.results pages"
                    for old, new in zip(AREA.findall(text), made, strict=True) if old != new]


def fill() -> None:
    """Write today's tables between the marks of all pages; raises as filled()."""
    for path in documents():
        text = path.read_text(encoding="utf-8")
        if (made := filled(text)) != text:
            store.write_whole(path, made)
