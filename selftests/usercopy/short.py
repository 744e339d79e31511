# SPDX-License-Identifier: GPL-2.0
"""The short form of the tables of user copies, for the group's page, and README's rows of gains."""
from __future__ import annotations

from selftests.usercopy.bench import has_baseline
from tools.model import tables
from tools.model.published import literal, wrapped
from tools.results.cpus import cpu_name
from tools.results.figures import STAC_CLAC, Row, arrow, evidence, timed
from tools.results.store import Table

SIZES = (1, 8, 16, 32, 48, 64, 128, 256, 512, 4096)
# The loop of moves, inline; the first column is what a CPU has without options
COPIES = ("unrolled", "const")
INTEL = "Intel with AMX"


def pair(cpu: str, cell: str, copy: str) -> str:
    """Return the cycles of mainline's copy and of another one, with STAC and CLAC."""
    before, after = (timed("usercopy/bench", cpu, cell, name) for name in ("fsrm", copy))
    return arrow(before, after, 1, STAC_CLAC)


def gains() -> list[Row]:
    """Return the rows of README's table of gains."""
    return [
        Row("x86_usercopy=unrolled", "256 bytes, hot",
            f"{pair(INTEL, 'hot/256', 'unrolled')} cycles", evidence("usercopy/bench", INTEL),
            "slower at all hot sizes where functions return by safe-RET")]


def default(block: Table) -> str:
    """Return the copy that a CPU makes without options: rep movsb, or the series'
    rep_movs_alternative()."""
    return "fsrm" if "fsrm" in block["machine"]["copy flags"].split() else "erms"


def bench(table: Table) -> str:
    """Return the hot copies of some sizes, each CPU model's beside those of the others."""
    rows = [["bytes", *(cpu_name(block["machine"]) for block in table["blocks"])]]
    for size in SIZES:
        found = [(block["cells"][f"hot/{size}"], default(block)) for block in table["blocks"]]
        rows.append([str(size), *(" / ".join(f"{copies[name][0]:.1f}" if name in copies else "-"
                                             for name in (first, *COPIES))
                                  for copies, first in found)])
    about = "; ".join(f"{cpu_name(block['machine'])}: {block['date']}, series {block['series']}"
                      for block in table["blocks"])
    low = ", ".join(cpu_name(block["machine"]) for block in table["blocks"]
                    if not has_baseline(block))
    low = low and "\n" + wrapped("the first two are called by a function that ends in a plain ret, "
                                 f"so they are too low where returns are mitigated: {low}")
    return literal("cycles of the time-stamp counter for a hot copy, median: "
                   "without options / unrolled / a constant size inline\n"
                   f"{wrapped(about)}{low}\n\n"
                   f"{tables.columns(rows)}")
