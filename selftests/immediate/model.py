# SPDX-License-Identifier: GPL-2.0
"""The table of immediate values: how many first-level misses of a system call are those of static
variables that seldom change: no more can be saved by reading them from the code.

`make model-tables GROUP=immediate` makes Documentation/results/immediate/model.rst.
"""
from __future__ import annotations

from typing import Any

from tools.model import tables
from tools.model.published import Published, literal, result_of, wrapped
from tools.model.result import misses
from tools.figures.store import Table

RUN = "calls"
CALLS = {
    "open_close": "open(), close()", "read_page": "pread() of a page of a memfd",
    "append_page": "write() of a page to a memfd", "map_unmap": "mmap(), 4 page faults, munmap()",
    "fork_exit": "fork(), exit(), wait()", "execute": "vfork(), exec(), exit(), wait()",
    "poll_pipe": "poll() of a pipe", "epoll_ready": "epoll_wait() of a pipe",
    "send_receive": "send(), recv() of 64 bytes, AF_UNIX", "futex_wake": "futex(), wake nobody"}
SCALAR, LINE = 8, 64
FIRST = 6


def cells() -> dict[str, list[str]]:
    """Return the one run by name: the options of model run."""
    return {RUN: ["syscalls", "--variables"]}


def kept(_name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the page needs: of each call all L1D misses, those of static variables, and the
    scalars that it does not store: name, bytes, misses, and whether anybody stored them since the
    first call."""
    found: dict[str, Any] = {}
    for call, label in result["labels"].items():
        scalars = [[variable[key] for key in ("name", "size", "l1d", "stored")]
                   for variable in label["variables"] if variable["l1d"]
                   and 0 < variable["size"] <= SCALAR and not variable["stores"]]
        found[call] = {"units": label["units"], "l1d": misses(label, "l1d"), "scalars": scalars,
                       "variables": sum(variable["l1d"] for variable in label["variables"])}
    return found


def row(table: Table, call: str) -> list[str]:
    """Return the row of a system call."""
    cell = table["cells"][f"{RUN}/{call}"]
    never, seldom = (sum(scalar[2] for scalar in cell["scalars"] if scalar[3] is stored)
                     for stored in (False, True))
    grouped = -(-sum(scalar[1] for scalar in cell["scalars"]) // LINE)
    return [CALLS[call], *(f"{count / cell['units']:.1f}" for count in (
        cell["l1d"], cell["variables"], never, seldom)), str(grouped)]


def budget(table: Table) -> str:
    """Return the table of all calls, with what it counts under it."""
    words = result_of(table, RUN)["words"]
    rows = [["L1D misses of a call", "all", "static", "scalars: never stored", "seldom stored",
             "in own lines"], *(row(table, call) for call in CALLS)]
    what = (
        f"Each call {words['reps']} times; a buffer of {words['thrash_kib']} KiB is written before "
        "each. "
        "static: misses of static variables, of the one whose access it was. scalars: those of 8 "
        "bytes and less that the call does not store. never: by nobody since the first call. What "
        "is on a line with them may need the line, too, so that no more than these can be saved. "
        "in own lines: "
        "the lines that these scalars would fill, and miss, if nothing else were on them.")
    return literal(f"{tables.columns(rows)}\n\n{wrapped(what)}")


def page(table: Table) -> str:
    """Return the page, without its head."""
    lists = [["", "scalars with most misses, of a call"]]
    for call in CALLS:
        cell = table["cells"][f"{RUN}/{call}"]
        lists.append([call, ", ".join(f"{name} {missed / cell['units']:.1f}" for name, _, missed, _
                                      in cell["scalars"][:FIRST])])
    head = tables.headline(result_of(table, RUN))
    return "\n".join([literal(head), budget(table), literal("\n".join(
        f"{call:13} {names}".rstrip() for call, names in lists)), literal(wrapped(tables.LIMITS))])


PUBLISHED = Published("immediate", cells(), kept, ("IMMEDIATE_VALUES",))
