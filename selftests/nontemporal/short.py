# SPDX-License-Identifier: GPL-2.0
"""The short form of the tables of non-temporal writes, for the group's page, and README's rows of
gains."""
from __future__ import annotations

import statistics

from selftests.nontemporal.bench_folio import BYPASSED
from selftests.nontemporal.model import bystander_table, writes_table
from tools.model import tables
from tools.model.published import literal, wrapped
from tools.results.cpus import cpu_name
from tools.results.figures import Row, arrow, block, cells, evidence, per_unit, timed
from tools.results.store import Table

# By measure, what its rows are
ROWS = {"fresh": "new folios, in no cache", "stream": "a stream of 64 MiB",
        "bystander_256k": "a line of a bystander's 256 KiB",
        "bystander_2m": "a line of a bystander's 2 MiB",
        "ring": "a stream to so many bytes of frames",
        "read_at_once": "new folios, each read then",
        "recycled": "a file in the frames of the last",
        "files_cold": "files of 1 to 64 KiB"}
SIZES = (8192, 65536, 1048576, 4194304)
BENCH, INTEL = "nontemporal/bench_folio", "Intel with AMX"
# Rows that are slower than they should be, by CPU model: README's costs have the worst that is
# slower than a plain copy, and Zen 3 has none
SLOWER = {(INTEL, "bystander_2m/1048576"), ("Zen 3", "bystander_256k/65536"),
          ("Zen 5", "read_at_once/1048576"),
          *(("Zen 4", row) for row in (
              "fresh/65536", "fresh/262144", "fresh/1048576",
              "stream/65536", "stream/262144", "stream/1048576",
              "stream_pages/65536", "stream_pages/1048576",
              "bystander_256k/65536", "read_at_once/1048576")),
          *(("Cascade Lake", row) for row in (
              "fresh/65536", "fresh/262144", "fresh/1048576",
              "stream/65536", "stream/262144", "stream/1048576",
              "stream_pages/65536", "stream_pages/1048576", "bystander_256k/65536",
              "read_at_once/1048576"))}


def setting(found: Table, cell: str) -> str:
    """Return the setting that selects a block's writes: the default minimum if they are as large,
    else one of 512 bytes."""
    return "default" if found["bypassed"][cell]["default"] > BYPASSED else "always"


def times(cpu: str, cell: str) -> str:
    """Return how many times as long as a plain copy a write takes that bypasses the caches."""
    found = block(BENCH, cpu)
    plain, other = (timed(BENCH, cpu, cell, copy) for copy in ("plain", setting(found, cell)))
    return f"{other / plain:.2f}"


def line(cell: str, choice: str) -> str:
    """Return the cycles for a line of a bystander, after plain copies and after others."""
    return arrow(*(timed(BENCH, INTEL, cell, copy) for copy in ("plain", choice)))


def gains() -> list[Row]:
    """Return the rows of README's table of gains."""
    plain, bypass = (
        statistics.median(cell["llc"]
                          for cell in cells("nontemporal/model", f"bystander-{run}-[0-9]*"))
        for run in ("plain", "bypass"))
    off, on = (per_unit("nontemporal/model", f"writes-{run}/write_4096", "instructions")
               for run in ("off", "on"))
    return [
        Row("vm.nontemporal_write=1", "writes of 64 KiB of a program that asks",
            f"time 1 → {times(INTEL, 'stream/65536')}", evidence(BENCH, INTEL), ""),
        Row("vm.nontemporal_write=1 or 2", "writes of 1 MiB",
            f"time 1 → {times(INTEL, 'stream/1048576')}", evidence(BENCH, INTEL),
            f"on Zen 4 with slow memory, writes of 1 MiB take {times('Zen 4', 'stream/1048576')} "
            f"times as long, of 64 KiB {times('Zen 4', 'stream/65536')}, on Cascade Lake "
            f"{times('Cascade Lake', 'stream/1048576')} and "
            f"{times('Cascade Lake', 'stream/65536')}; read back, 64 KiB take "
            f"{times(INTEL, 'read_at_once/65536')} times as long (Intel), 8 KiB "
            f"{times('Zen 5', 'read_at_once/8192')}, 1 MiB "
            f"{times('Zen 5', 'read_at_once/1048576')} (Zen 5)"),
        Row("vm.nontemporal_write=1 or 2", "256 KiB read, 1 MiB written",
            f"{line('bystander_256k/1048576', 'default')} cycles per line", evidence(BENCH, INTEL),
            "another task that reads 2 MiB, all of L2, needs "
            f"{line('bystander_2m/1048576', 'default')} cycles per cache line (Intel)"),
        Row("vm.nontemporal_write=2", "4 MiB read, 4 tasks write 4 KiB (min 4096)",
            f"{arrow(plain, bypass)} LLC misses", evidence("nontemporal/model"),
            f"rewriting 4 KiB takes {arrow(off, on)} instructions; a gain from writes below 1 MiB "
            "needs a program that asks, or a smaller vm.nontemporal_write_min")]


def model(table: Table) -> str:
    """Return the parts about the bystander and about writes to which nothing applies."""
    return "\n".join([bystander_table(table), writes_table(table)])


def bench_folio(table: Table) -> str:
    """Return the writes of ROWS, each CPU model's beside those of the others: cycles of plain
    copies, and how many times as long."""
    blocks = table["blocks"]
    rows = [["a write to", "bytes", *(cpu_name(each["machine"]) for each in blocks)]]
    for cell in blocks[-1]["cells"]:
        measure, _, size = cell.partition("/")
        if (measure in ROWS and int(size) in SIZES
                and blocks[-1]["bypassed"][cell]["always"] > BYPASSED):
            both = [[each["cells"][cell][copy][0] for copy in ("plain", setting(each, cell))]
                    for each in blocks]
            rows.append([ROWS[measure], size, *(f"{plain:.0f}: {other / plain:.2f}"
                                                for plain, other in both)])
    about = "; ".join(f"{cpu_name(each['machine'])}: {each['date']}, series {each['series']}"
                      for each in blocks)
    return literal(f"{wrapped(about)}\n"
                   "cycles of the time-stamp counter with vm.nontemporal_write 0, and with 2 "
                   "how many times as\n"
                   "long, by the default minimum or, where it selects nothing, one of 512 bytes; "
                   f"medians\n\n{tables.columns(rows)}")
