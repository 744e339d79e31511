# SPDX-License-Identifier: GPL-2.0
"""The short form of the tables of colouring, for the group's page, and README's row of gains."""
from __future__ import annotations

from selftests.colouring.model import (CACHES, CHURN, KINDS, L1D, L2_1M, TASKS, by_choice,
                                       largest_loss, per_switch)
from selftests.model import tables
from selftests.model.published import literal, mean_spread
from selftests.results.figures import Row, evidence, per_unit
from selftests.results.store import Table


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    def misses(cell: str, cache: str, runs: str = "[0-9]*") -> str:
        before, after = (per_unit("colouring/model", f"{choice}-{runs}/{cell}", cache)
                         for choice in ("off", "all"))
        return f"{before:.1f} to {after:.1f}"
    return [Row("kstack_colours=, task_struct_colours=",
                "64 to 128 tasks, L2 of 1 MiB",
                f"L2 misses per switch over pipes: {misses('pipe_64', 'l2')} with 64 tasks, "
                f"{misses('pipe_128', 'l2')} with 128",
                f"16 threads: {misses('threads_16', 'l1d')} L1D misses; 512 tasks, churn: "
                f"{misses('pipe_512', 'l2', 'churn-*')} L2 misses; up to 1/8 of each stack",
                evidence("colouring/model"))]


def model(table: Table) -> str:
    """Return the misses with colours off and all on, with the steady tasks and with churn."""
    results, parts = by_choice(table), []
    for cache in (L1D, L2_1M):
        for choices, how in ((("off", "all"), ""),
                             (("off, churn", "all, churn"),
                              f"; {CHURN} other tasks came and went at random")):
            rows = [["N =", *(f"{kind}, {choice.split(',')[0]}" for kind in KINDS
                              for choice in choices)]]
            for tasks in TASKS:
                rows.append([str(tasks), *(
                    mean_spread(per_switch(results[choice], cache, kind, tasks))
                    for kind in KINDS for choice in choices)])
            parts.append(f"{cache.name}: misses per context switch, mean (least..most){how}\n\n"
                         f"{tables.columns(rows)}")
    losses = "\n".join(largest_loss(results, *pair)
                       for pair in (("off", "all"), ("off, churn", "all, churn")))
    parts.append(f"The largest loss, of all {len(CACHES)} caches and cells with at least one "
                 f"miss\n{losses}")
    return literal("\n\n".join(parts))
