# SPDX-License-Identifier: GPL-2.0
"""The short form of the table of immediate values, for the group's page, and README's row of
gains."""
from __future__ import annotations

from selftests.immediate.bench import CACHES_OF, added
from selftests.immediate.model import budget
from tools.model import tables
from tools.model.published import literal
from tools.results.cpus import cpu_name
from tools.results.figures import Row, arrow, block, evidence
from tools.results.store import Table

TABLE, CPU = "immediate/bench", "Zen 5"
# Where immediates are slower than they should be: README's costs have them
SLOWER = "Cascade Lake"
FORMS = ("loads", "immediates")


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    def pair(cell: str, cpu: str = CPU) -> str:
        return arrow(*(added(block(TABLE, cpu), cell, form) for form in FORMS))
    return [Row("IMMEDIATE_VALUES", "4096 variables of 4 bytes in a call, hot",
                f"{pair('u32_4096_hot')} cycles more", evidence(TABLE, CPU),
                f"from cold caches 4096 reads of 8 bytes add {pair('u64_4096_llc')} cycles "
                f"({CPU}), hot ones of 4 bytes {pair('u32_4096_hot', SLOWER)} ({SLOWER}); "
                "no variable of the kernel is one: none of those looked at would gain; "
                "setting a value interrupts all CPUs")]


def model(table: Table) -> str:
    """Return the table of all calls."""
    return budget(table)


def spread_added(forms: dict[str, list[float]], form: str) -> str:
    """Return the cycles that reads of a form add to a call: median (quartiles)."""
    median, low, high = (cycles - forms["none"][0] for cycles in forms[form])
    return f"{median:.0f} ({low:.0f}..{high:.0f})"


def bench(table: Table) -> str:
    """Return what 4096 reads add to a call, each CPU model's cycles beside those of the others."""
    blocks = table["blocks"]
    lines = [["bytes", "caches", *(f"{cpu_name(block['machine'])}, {form}"
                                   for block in blocks for form in FORMS)]]
    for cell in blocks[-1]["cells"]:
        width, reads, caches = cell.partition("/")[2].split("_")
        if reads == "4096":
            lines.append([str(int(width[1:]) // 8), CACHES_OF[caches], *(
                spread_added(block["cells"][cell], form) for block in blocks for form in FORMS)])
    about = "; ".join(f"{cpu_name(block['machine'])}, {block['date']}" for block in blocks)
    return literal("cycles that 4096 reads add to a getppid(), median (quartiles): "
                   f"{about}\n\n{tables.columns(lines)}")
