# SPDX-License-Identifier: GPL-2.0
"""Figures of published tables, for the rows of README's table of gains. A table is named
GROUP/TABLE, a CPU model as tools/figures/machine.py names it."""
from tools.figures import store
from tools.figures.cells import Block, one_row
from tools.figures.machine import cpu_name
from tools.figures.store import Table


def table_of(name: str) -> Table:
    """Return the table GROUP/TABLE; raises as store.read()."""
    return store.read(*name.split("/"))


def block_of(table: str, cpu: str) -> Block:
    """Return a CPU model's block of a timed table, the last one of that name; raises KeyError."""
    for found in reversed(table_of(table)["blocks"]):
        if cpu_name(found["machine"]) == cpu:
            return dict(found)
    raise KeyError(f"{table} has no block of {cpu}")


def timed(table: str, cpu: str, copy: str, **columns: object) -> float:
    """Return the median of a copy in the row of a CPU model's block that has these values; raises
    KeyError."""
    return one_row(block_of(table, cpu)["cells"], **columns)[copy].median


# Cycles that README adds to a copy for STAC and CLAC, which user space cannot execute: stated, not
# measured
STAC_CLAC = 20


def arrow(before: float, after: float, digits: int = 0, plus: float = 0) -> str:
    """Return two figures as before and after. plus: what is added to both."""
    return f"{before + plus:.{digits}f} → {after + plus:.{digits}f}"


def age(*made: Table) -> str:
    """Return "*" if the patches that tables, or blocks of some, were made of changed since."""
    hashes = [(name, value) for about in made
              for name, value in about.get("depends", {"": ""}).items()
              if name.startswith(store.PATCHES) or not name]
    return "" if all(name and value == store.hash_of(name) for name, value in hashes) else "*"


def evidence(table: str, *cpus: str, half: Table | None = None) -> str:
    """Return a table's CPU models, or "model" if it is modelled, each with "*" if patches changed
    since. half: what the table is compared with, if that is a file of its own."""
    if cpus:
        return ", ".join(cpu + age(block_of(table, cpu)) for cpu in cpus)
    return f"model{age(table_of(table), half or {'depends': {}})}"
