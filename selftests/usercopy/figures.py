# SPDX-License-Identifier: GPL-2.0
"""User copies: the short form of the timed table, for the group's page, and README's row of
gains."""
from __future__ import annotations

from selftests.usercopy import bench, model
from tools.figures.cells import Block, one_row
from tools.figures.gains import STAC_CLAC, arrow, evidence, timed
from tools.figures.machine import cpu_name
from tools.figures.store import Table
from tools.figures.tables import Figures, Modelled, Row, Timed
from tools.model import tables
from tools.model.published import literal, wrapped

SIZES = (1, 8, 16, 32, 48, 64, 128, 256, 512, 4096)
# The loop of moves, inline; the first column is what a CPU has without options
COPIES = ("unrolled", "const")
INTEL = "Intel with AMX"


def gains() -> list[Row]:
    """Return the rows of README's table of gains."""
    before, after = (timed("usercopy/bench", INTEL, name, measure="hot", bytes=256)
                     for name in ("fsrm", "unrolled"))
    return [
        Row("x86_usercopy=unrolled", "256 bytes, hot",
            f"{arrow(before, after, 1, STAC_CLAC)} cycles", evidence("usercopy/bench", INTEL),
            "slower at all hot sizes where functions return by safe-RET")]


def default(block: Block) -> str:
    """Return the copy that a CPU makes without options: rep movsb, or the series'
    rep_movs_alternative()."""
    return "fsrm" if "fsrm" in block["machine"]["copy flags"].split() else "erms"


def has_baseline(block: Block) -> bool:
    """Return whether mainline's copy was timed with the returns of the kernel."""
    return "fsrm_ret" in one_row(block["cells"], measure="hot", bytes=8)


def short(table: Table) -> str:
    """Return the hot copies of some sizes, each CPU model's beside those of the others."""
    rows = [["bytes", *(cpu_name(block["machine"]) for block in table["blocks"])]]
    for size in SIZES:
        found = [(one_row(block["cells"], measure="hot", bytes=size), default(block))
                 for block in table["blocks"]]
        rows.append([str(size), *(" / ".join(f"{row[name].median:.1f}" if name in row else "-"
                                             for name in (first, *COPIES))
                                  for row, first in found)])
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


FIGURES = Figures((
    # rep_movs_alternative() and unsafe_copy_to_user() are of other groups
    Timed("usercopy", "bench", bench.run,
          ("selftests/usercopy/copies.c", "tools/figures/returns.py", "patches of preparations",
           "patches of smallcopies"), short=short),
    Modelled("usercopy", model.PUBLISHED, model.page, model.page)), gains)
