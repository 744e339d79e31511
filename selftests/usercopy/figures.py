# SPDX-License-Identifier: GPL-2.0
"""User copies: the short form of the timed table, for the group's page, and README's row of
gains."""
from selftests.usercopy import bench, model
from tools.figures.cells import Block, one_row
from tools.figures.gains import arrow, evidence, timed
from tools.figures.machine import cpu_name
from tools.figures.store import Table
from tools.figures.tables import Figures, Modelled, Row, Timed
from tools.model import tables
from tools.model.published import literal

SIZES = (8, 32, 64, 256, 4096)
# The loop of moves, inline; the first column is what a CPU has without options
COPIES = ("unrolled", "const")
INTEL, CALLED = "Intel with AMX", "Cascade Lake"
TABLE = "usercopy/bench"


def gains() -> list[Row]:
    """Return the rows of README's table of gains."""
    def pair(cpu: str, before: str, after: str, size: int) -> str:
        return arrow(*(timed(TABLE, cpu, name, measure="hot", bytes=size)
                       for name in (before, after)), int(size < 1024))
    return [
        Row("X86_USERCOPY_CONST", "cycles, 8-byte copy", pair(CALLED, "erms", "put_user", 8),
            "+ 6 KB text", evidence(TABLE, CALLED)),
        Row("x86_usercopy=unrolled", "cycles, copy", pair(INTEL, "fsrm", "unrolled", 256),
            pair(INTEL, "fsrm", "unrolled", 4096), evidence(TABLE, INTEL))]


def default(block: Block) -> str:
    """Return the copy that a CPU makes without options: rep movsb, or the series'
    rep_movs_alternative()."""
    return "fsrm" if "fsrm" in block["machine"]["copy flags"].split() else "erms"


def has_baseline(block: Block) -> bool:
    """Return whether mainline's copy was timed with the returns of the kernel."""
    return "fsrm_ret" in one_row(block["cells"], measure="hot", bytes=8)


def short(table: Table) -> str:
    """Return the hot copies of some sizes, a row for each CPU model."""
    rows = [["bytes", "date", *map(str, SIZES)]]
    for block in table["blocks"]:
        found = [one_row(block["cells"], measure="hot", bytes=size) for size in SIZES]
        rows.append([cpu_name(block["machine"]) + "*" * (not has_baseline(block)), block["date"],
                     *("/".join(f"{row[name].median:.1f}" for name in (default(block), *COPIES)
                                if name in row) for row in found)])
    return literal("cycles of a hot copy, median: without options/unrolled/a constant size inline\n"
                   f"{tables.columns(rows)}\n"
                   "* timed with a plain ret: mitigated returns make the first two slower")


FIGURES = Figures((
    # rep_movs_alternative() and unsafe_copy_to_user() are of other groups
    Timed("usercopy", "bench", bench.run,
          ("selftests/usercopy/copies.c", "tools/figures/returns.py", "patches of preparations",
           "patches of smallcopies"), short=short),
    Modelled("usercopy", model.PUBLISHED, model.page)), gains)
