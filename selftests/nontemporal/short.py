# SPDX-License-Identifier: GPL-2.0
"""The short form of the tables of non-temporal writes, for the group's page, and README's rows of
gains."""
from __future__ import annotations

import statistics

from selftests.model import tables
from selftests.model.published import literal
from selftests.nontemporal.model import bystander_table, writes_table
from selftests.results.cpus import cpu_name
from selftests.results.figures import Row, cells, evidence, per_unit, timed
from selftests.results.store import Table

# By measure, what its rows are
ROWS = {"fresh": "new folios, in no cache", "rewritten": "the same block again and again",
        "log_pages": "each page of a log 16 times", "recycled": "a file in the frames of the last",
        "files_cold": "files of 1 to 64 KiB", "read_at_once": "new folios, each read at once"}


def times(cpu: str, cell: str, choice: str) -> str:
    """Return how many times as long as a plain copy a write takes."""
    plain, other = (timed("nontemporal/bench_folio", cpu, cell, copy) for copy in ("plain", choice))
    return f"{other / plain:.2f}"


def gains() -> list[Row]:
    """Return the rows of README's table of gains."""
    alone, plain, cold, hot = (
        statistics.median(cell["llc"] for cell in cells("nontemporal/model", f"bystander-{run}-*"))
        for run in ("alone", "plain", "cold", "hot"))
    off, on = (per_unit("nontemporal/model", f"writes-{run}/write_4096", "instructions")
               for run in ("off", "on"))
    return [
        Row("vm.nontemporal_write=3", "one task reads 4 MiB while four others write files",
            f"its LLC misses: {plain} to {cold} ({alone} when nobody writes)",
            f"no gain if page frames are in a cache: {hot}; rewriting 4 KiB: {off:.0f} to {on:.0f} "
            "instructions", evidence("nontemporal/model")),
        Row("vm.nontemporal_write=2", "the writing task",
            f"faster: new pages of 8 KiB take {times('Zen 4', 'fresh/8192', 'auto')} of the time, "
            f"of 256 KiB {times('Zen 4', 'fresh/262144', 'auto')}",
            f"slower if read back at once: {times('Zen 4', 'read_at_once/8192', 'auto')} times the "
            f"time for 8 KiB, {times('Zen 4', 'read_at_once/1048576', 'auto')} for 1 MiB",
            evidence("nontemporal/bench_folio", "Zen 4")),
        Row("vm.nontemporal_write=3", "the writing task", "none in short bursts",
            f"slower: new pages of 16 KiB take {times('Zen 5', 'fresh/16384', 'always')} times the "
            f"time, 8 KiB read back at once {times('Zen 5', 'read_at_once/8192', 'always')}",
            evidence("nontemporal/bench_folio", "Zen 5"))]


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
