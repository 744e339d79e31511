# SPDX-License-Identifier: GPL-2.0
"""The short form of the table of immediate values, for the group's page, and README's row of
gains."""
from __future__ import annotations

import operator
import statistics

from selftests.immediate.bench import rows
from selftests.immediate.model import BOOTS, CALLS, budget, per_call
from tools.model.published import literal
from tools.results import store
from tools.results.cpus import cpu_name
from tools.results.figures import Row, arrow, evidence
from tools.results.store import Table


def gains() -> list[Row]:
    """Return the row of README's table of gains: an open(), which reads one of the values."""
    table = store.read("immediate", "model")
    misses = {call: [per_call(table, call, boot) for boot in BOOTS] for call in CALLS}
    fewer = [call for call, found in misses.items() if all(map(operator.gt, *found))]
    return [Row("IMMEDIATE_VALUES", f"{CALLS['open_close'].replace(', ', ' + ')}, cold caches",
                f"{arrow(*map(statistics.median, misses['open_close']), digits=1)} L1D misses",
                evidence("immediate/model"),
                f"boots with and without it in pairs: {len(fewer)} of {len(CALLS)} system calls had fewer misses in "
                "each pair; changing a variable interrupts all CPUs")]


def model(table: Table) -> str:
    """Return the table of all calls."""
    return budget(table)


def bench(table: Table) -> str:
    """Return what 4096 reads add to a call, for each CPU model."""
    return "\n".join(
        literal("\n".join([f"{cpu_name(block['machine'])}, {block['date']}, cycles", *(
            line for line in rows(block) if line.split()[1] in ("reads", "4096"))])) for block in table["blocks"])
