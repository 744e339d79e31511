# SPDX-License-Identifier: GPL-2.0
"""The short form of the tables of user copies, for the group's page."""
from __future__ import annotations

from selftests.model import tables
from selftests.model.published import literal
from selftests.results.cpus import cpu_name
from selftests.results.store import Table

SIZES = (1, 8, 16, 32, 48, 64, 128, 256, 512, 4096)
# Heads of the columns by the name of the copy
COPIES = {"fsrm": "rep movsb (mainline)", "auto": "auto", "unrolled": "unrolled",
          "const": "in place"}


def bench(table: Table) -> str:
    """Return the hot copies of some sizes, a table for each CPU model."""
    parts = []
    for block in table["blocks"]:
        rows = [["bytes", *COPIES.values()]]
        for size in SIZES:
            copies = block["cells"][f"hot/{size}"]
            rows.append([str(size), *("{:.1f} ({:.1f}..{:.1f})".format(*copies[name][:3])
                                      if name in copies else "-" for name in COPIES)])
        parts.append(literal(
            f"{cpu_name(block['machine'])}, {block['date']}, series {block['series']}\n"
            f"cycles of the time-stamp counter for a hot copy, median (quartiles)\n\n"
            f"{tables.columns(rows)}"))
    return "\n".join(parts)
