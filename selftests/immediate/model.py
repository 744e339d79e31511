# SPDX-License-Identifier: GPL-2.0
"""The table of immediate values: how many first-level misses of a system call are those of static
variables that seldom change, and how many of them the series saves.

`make model-tables GROUP=immediate` makes Documentation/results/immediate/model.rst.
"""
from __future__ import annotations

from typing import Any

from tools.model import tables
from tools.model.published import Published, literal, result_of, spread, wrapped
from tools.model.result import misses
from tools.results.store import Table

LOADS, PATCHED = "loads", "patched"
BOOTS = {LOADS: ["--append=imv=off"], PATCHED: []}
# How much is written between two calls, KiB: each is another layout of the memory
WRITTEN = (2048, 2052, 2056, 2060, 2064)
CALLS = {
    "open_close": "open(), close()", "read_page": "pread() of a page of a memfd",
    "append_page": "write() of a page to a memfd", "map_unmap": "mmap(), 4 page faults, munmap()",
    "fork_exit": "fork(), exit(), wait()", "execute": "vfork(), exec(), exit(), wait()",
    "poll_pipe": "poll() of a pipe", "epoll_ready": "epoll_wait() of a pipe",
    "send_receive": "send(), recv() of 64 bytes, AF_UNIX", "futex_wake": "futex(), wake nobody"}
SCALAR, LINE = 8, 64
FIRST = 6


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model run."""
    return {f"{boot}-{kib}": ["syscalls", "--variables", f"--set=thrash_kib={kib}", *append]
            for boot, append in BOOTS.items() for kib in WRITTEN}


def kept(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the page needs of a boot: all L1D misses of each call; of the first boot those of
    static variables, too, and the scalars that the call does not store: name, bytes, misses, and
    whether anybody stored them since the first call."""
    found: dict[str, Any] = {}
    for call, label in result["labels"].items():
        found[call] = {"units": label["units"], "l1d": misses(label, "l1d")}
        if name == f"{LOADS}-{WRITTEN[0]}":
            scalars = [[variable[key] for key in ("name", "size", "l1d", "stored")]
                       for variable in label["variables"] if variable["l1d"]
                       and 0 < variable["size"] <= SCALAR and not variable["stores"]]
            found[call] |= {"scalars": scalars, "variables": sum(
                variable["l1d"] for variable in label["variables"])}
    return found


def per_call(table: Table, call: str, boot: str) -> list[float]:
    """Return the L1D misses of a call in each boot."""
    found = [table["cells"][f"{boot}-{kib}/{call}"] for kib in WRITTEN]
    return [cell["l1d"] / cell["units"] for cell in found]


def row(table: Table, call: str) -> list[str]:
    """Return the row of a system call."""
    first = table["cells"][f"{LOADS}-{WRITTEN[0]}/{call}"]
    never, seldom = (sum(scalar[2] for scalar in first["scalars"] if scalar[3] is stored)
                     for stored in (False, True))
    grouped = -(-sum(scalar[1] for scalar in first["scalars"]) // LINE)
    loads, patched = (per_call(table, call, boot) for boot in BOOTS)
    saved = [one - other for one, other in zip(loads, patched)]
    return [CALLS[call], *(f"{count / first['units']:.1f}" for count in (
        first["l1d"], first["variables"], never, seldom)), str(grouped), spread(saved)]


def budget(table: Table) -> str:
    """Return the table of all calls, with what it counts under it."""
    words = result_of(table, f"{LOADS}-{WRITTEN[0]}")["words"]
    rows = [["L1D misses of a call", "all", "static", "scalars: never stored", "seldom stored",
             "in own lines", "saved by the series"], *(row(table, call) for call in CALLS)]
    what = (
        f"imv=off, each call {words['reps']} times; a buffer of {words['thrash_kib']} KiB is written "
        "before each. static: misses of static variables, of the one whose access it was. scalars: "
        "those of 8 bytes and less that the call does not store. never: by nobody since the first "
        "call. What is on a line with them may need the line, too, so that no more than these can be "
        "saved. in own lines: the lines that these scalars would fill, and miss, if nothing else were "
        "on them. saved by the series: the misses with imv=off less those without, median (least.."
        f"most) of {len(WRITTEN)} pairs of boots with other sizes of that buffer.")
    return literal(f"{tables.columns(rows)}\n\n{wrapped(what)}")


def page(table: Table) -> str:
    """Return the page, without its head."""
    lists = [["", "scalars with most misses, of a call"]]
    for call in CALLS:
        cell = table["cells"][f"{LOADS}-{WRITTEN[0]}/{call}"]
        lists.append([call, ", ".join(f"{name} {missed / cell['units']:.1f}" for name, _, missed, _
                                      in cell["scalars"][:FIRST])])
    head = tables.headline(result_of(table, f"{LOADS}-{WRITTEN[0]}"))
    return "\n".join([literal(head), budget(table), literal("\n".join(
        f"{call:13} {names}".rstrip() for call, names in lists)), literal(wrapped(tables.LIMITS))])


PUBLISHED = Published("immediate", cells(), kept, ("IMMEDIATE_VALUES",))
