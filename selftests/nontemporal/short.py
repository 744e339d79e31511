# SPDX-License-Identifier: GPL-2.0
"""The short form of the tables of non-temporal writes, for the group's page."""
from __future__ import annotations

from selftests.model import tables
from selftests.model.published import literal
from selftests.nontemporal.model import bystander_table, writes_table
from selftests.results.cpus import cpu_name
from selftests.results.store import Table

# By measure, what its rows are
ROWS = {"fresh": "new folios, in no cache", "rewritten": "the same block again and again",
        "log_pages": "each page of a log 16 times", "recycled": "a file in the frames of the last",
        "files_cold": "files of 1 to 64 KiB", "read_at_once": "new folios, each read at once"}


def model(table: Table) -> str:
    """Return the parts about the bystander and about writes to which nothing applies."""
    return "\n".join([bystander_table(table), writes_table(table)])


def bench_folio(table: Table) -> str:
    """Return the writes of ROWS, a table for each CPU model: cycles, and how many times as long."""
    parts = []
    for block in table["blocks"]:
        rows = [["a write to", "bytes", "plain (mainline)", "2: times as long", "3"]]
        for cell, copies in block["cells"].items():
            measure, _, size = cell.partition("/")
            if measure in ROWS:
                plain = copies["plain"]
                rows.append([ROWS[measure], size, "{:.0f} ({:.0f}..{:.0f})".format(*plain[:3]),
                             *(f"{copies[name][0] / plain[0]:.2f}" for name in ("auto", "always"))])
        parts.append(literal(
            f"{cpu_name(block['machine'])}, {block['date']}, series {block['series']}\n"
            "vm.nontemporal_write 0, 2 and 3: cycles of the time-stamp counter, median (quartiles)"
            f"\n\n{tables.columns(rows)}"))
    return "\n".join(parts)
