# SPDX-License-Identifier: GPL-2.0
"""What a group publishes: FIGURES of selftests/GROUP/figures.py has its tables, its rows of
README's table of gains and its pictures. That file is apart from the programs that measure, so that
another form makes no table stale."""
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tools.figures import store
from tools.figures.cells import Block
from tools.figures.store import ROOT, Table


class Row(NamedTuple):
    """A row of README's table of gains. switch: the option or parameter; measured: the unit and
    what was measured; best, worst: figures before and after; evidence: as gains.evidence()
    returns it."""

    switch: str
    measured: str
    best: str
    worst: str
    evidence: str


class Picture(NamedTuple):
    """A picture of Documentation/pictures/. draw: returns matplotlib's figure in a theme."""

    title: str
    draw: Callable[[str], Any]


def nothing(_block: Block) -> list[str]:
    """Return what breaks the rule of a table that has none."""
    return []


@dataclass(frozen=True)
class Timed:
    """A table that `make bench` makes, by selftests/GROUP/NAME.py.

    run: measures in a tree, in so many rounds, and returns what is the block's own; files: what the
    table depends on beside that program and the group's patches, files and "patches of GROUP";
    complaints: lines that say what breaks the table's rule in a block; short: the table's form in
    the group's page.
    """

    group: str
    name: str
    run: Callable[[Path, int], Block]
    files: tuple[str, ...]
    complaints: Callable[[Block], list[str]] = nothing
    short: Callable[[Table], str] | None = None

    def sources(self) -> list[str]:
        """Return all that the table depends on but the group's patches."""
        return [f"selftests/{self.group}/{self.name}.py", *self.files]


@dataclass(frozen=True)
class Modelled:
    """A table that `make model-tables` makes, by selftests/GROUP/model.py.

    published: the tools.model.published.Published of that file; page: the table's page; short: its
    form in the group's page.
    """

    group: str
    published: Any
    page: Callable[[Table], str]
    short: Callable[[Table], str] | None = None
    name = "model"

    def text(self) -> str:
        """Return the page of today's table; raises as store.read()."""
        return (".. SPDX-License-Identifier: GPL-2.0\n.. Made by selftests/"
                f"{self.group}/model.py from model.json: do not edit.\n\n"
                f"{self.page(store.read(self.group, self.name))}")

    def write_page(self) -> None:
        """Write the page of today's table; raises as text()."""
        path = store.file_of(self.group, self.name).with_suffix(".rst")
        store.write_whole(path, self.text())


@dataclass(frozen=True)
class Figures:
    """All that a group publishes. recommended: README says to switch it on."""

    tables: tuple[Timed | Modelled, ...] = ()
    gains: Callable[[], list[Row]] | None = None
    pictures: dict[str, Picture] = field(default_factory=dict)
    recommended: bool = False


def groups() -> dict[str, Figures]:
    """Return the figures of all groups by name."""
    names = sorted(path.parent.name for path in ROOT.glob("selftests/*/figures.py"))
    return {name: importlib.import_module(f"selftests.{name}.figures").FIGURES for name in names}


def timed() -> list[Timed]:
    """Return all timed tables."""
    return [table for figures in groups().values() for table in figures.tables
            if isinstance(table, Timed)]


def modelled() -> list[Modelled]:
    """Return all modelled tables."""
    return [table for figures in groups().values() for table in figures.tables
            if isinstance(table, Modelled)]


def find(group: str, name: str) -> Timed | Modelled:
    """Return a table; raises ValueError when there is none."""
    for table in (*timed(), *modelled()):
        if (table.group, table.name) == (group, name):
            return table
    raise ValueError(f"there is no table {group}/{name}")
