# SPDX-License-Identifier: GPL-2.0
"""Tables in the pages of Documentation/, as text that each viewer shows: between two marks that
name it stands a table's short form.

  .. begin of results/GROUP/TABLE
  .. end of results/GROUP/TABLE

README.md has its table of gains between <!-- begin of gains --> and <!-- end of gains -->: the rows
of all groups. Documentation/reviewing.rst has the tests of each patch between .. begin of tests and
.. end of tests: what the patches say below ---.
"""
import re
import textwrap
from itertools import zip_longest
from pathlib import Path

from tools.figures import store, tables
from tools.figures.store import ROOT
from tools.figures.tables import Row

AREA = re.compile(r"^((?:\.\.|<!--) begin of (results/(\w+)/(\w+)|gains|tests)(?: -->)?\n)"
                  r"(.*?)^((?:\.\.|<!--) end of \2(?: -->)?\n)", re.M | re.S)
MARK = re.compile(r"^(?:\.\.|<!--) (?:begin|end) of (?:results/|gains|tests)", re.M)
PATCH, TESTS = 50, 48    # columns of the table of tests
INCLUDE = re.compile(r"^\s*\.\. include::", re.M)


def documents() -> list[Path]:
    """Return all pages that may have marks: README and those of Documentation/."""
    return [ROOT / "README.md", *sorted((ROOT / "Documentation").glob("*.rst"))]


def short(group: str, name: str) -> str:
    """Return the short form of a table; raises ValueError for one that has none."""
    if not (form := tables.find(group, name).short):
        raise ValueError(f"{group}/{name} has no short form")
    return form(store.read(group, name)).strip("\n")


def gain_rows() -> dict[str, list[Row]]:
    """Return the rows of each group in the order of the series, but first those that are
    recommended; raises OSError, ValueError and KeyError for figures that no published table has."""
    figures = tables.groups()
    names = sorted((group.name for group in store.series_of_today().groups
                    if group.name in figures),
                   key=lambda name: not figures[name].recommended)
    return {name: rows() for name in names if (rows := figures[name].gains)}


def gains() -> str:
    """Return README's table of gains; raises as gain_rows()."""
    rows = [f"| [{group}] | {' | '.join(row)} |" for group, rows in gain_rows().items()
            for row in rows]
    return "\n".join(["| group | switch | measured | gain | loss | where |",
                      "|---|---|---|---|---|---|", *rows])


def tests() -> str:
    """Return the table of all patches with the tests that they name below ---."""
    rule = f"{'=' * PATCH}  {'=' * TESTS}"
    lines = [rule, f"{'patch':{PATCH}}  shown by", rule]
    for patch in store.series_of_today().patches:
        subject = textwrap.shorten(patch.header("Subject").removeprefix("[PATCH] "), PATCH,
                                   placeholder=" ...")
        shown = textwrap.wrap(patch.test, TESTS, break_long_words=False, break_on_hyphens=False)
        lines += [f"{name:{PATCH}}  {row}" for name, row in zip_longest([subject], shown,
                                                                        fillvalue="")]
    return "\n".join([*lines, rule])


def filled(text: str) -> str:
    """Return a page with the tables of today between its marks.

    Raises as gains(), and ValueError for marks that are no pair.
    """
    if len(MARK.findall(text)) != 2 * len(AREA.findall(text)):
        raise ValueError("a mark of a table has no other end")

    def area(match: re.Match[str]) -> str:
        begin, what, group, name, _, end = match.groups()
        made = short(group, name) if group else MADE[what]()
        return f"{begin}\n{made}\n\n{end}"
    return AREA.sub(area, text)


MADE = {"gains": gains, "tests": tests}


def problems(text: str) -> list[str]:
    """Return what is wrong with the tables of a page; raises as filled()."""
    found = ["a table is included, which code hosts do not show"] if INCLUDE.search(text) else []
    made = AREA.findall(filled(text))
    return found + [f"{old[1]}: the page differs from the table: tools/run tools.figures pages"
                    for old, new in zip(AREA.findall(text), made, strict=True) if old != new]


def fill() -> None:
    """Write today's tables between the marks of all pages; raises as filled()."""
    for path in documents():
        text = path.read_text(encoding="utf-8")
        if (made := filled(text)) != text:
            store.write_whole(path, made)
