# SPDX-License-Identifier: GPL-2.0
"""Non-temporal writes: the short forms of the tables, for the group's page, README's rows of gains,
and the picture of what the writer and another task take, by size."""
from typing import Any

from selftests.nontemporal import bench_folio, model
from selftests.nontemporal.bench_folio import BYPASSED
from tools.figures import store
from tools.figures.cells import Block, by_row, one_row, select
from tools.figures.gains import arrow, block_of, evidence
from tools.figures.machine import cpu_name
from tools.figures.pictures import THEMES, TIMED, about, start
from tools.figures.store import Table
from tools.figures.tables import Figures, Modelled, Picture, Row, Timed
from tools.model import tables
from tools.model.published import literal

# By measure, what the short table's rows are: the CSV has more measures and sizes
ROWS = {"fresh": "new folios", "stream": "stream of 64 MiB",
        "bystander_256k": "bystander's 256 KiB", "bystander_2m": "bystander's 2 MiB",
        "ring": "stream, frames reused", "read_at_once": "new folios, then read"}
MIB = 1 << 20
SIZES = (65536, MIB, 4 * MIB)
BENCH, INTEL, BEST = "nontemporal/bench_folio", "Intel with AMX", "Emerald Rapids"
# Rows that are slower than they should be, by CPU model
SLOWER = {
    (INTEL, "bystander_2m", MIB), ("Zen 3", "bystander_256k", 65536),
    *((cpu, "read_at_once", MIB) for cpu in ("Zen 3", "Zen 5", "Emerald Rapids")),
    *((cpu, measure, size) for cpu in ("Zen 4", "Cascade Lake") for measure, sizes in {
        "fresh": (65536, 262144, MIB), "stream": (65536, 262144, MIB), "stream_pages": (65536, MIB),
        "bystander_256k": (65536,), "read_at_once": (MIB,)}.items() for size in sizes)}


def both(block: Block, measure: str, size: int) -> tuple[float, float]:
    """Return the cycles of a plain copy and of one that bypasses the caches: by the default minimum
    if that selects these writes, else by one of 512 bytes."""
    row = one_row(block["cells"], measure=measure, bytes=size)
    other = "default" if row["default"].bypassed > BYPASSED else "always"
    return row["plain"].median, row[other].median


def times(cpu: str, measure: str, size: int) -> str:
    """Return how many times as long as a plain copy a write takes that bypasses the caches."""
    plain, other = both(block_of(BENCH, cpu), measure, size)
    return f"{other / plain:.2f}"


def line(measure: str) -> str:
    """Return the cycles for a line of a bystander, after plain writes of 1 MiB and after others."""
    return arrow(*both(block_of(BENCH, INTEL), measure, MIB))


def gains() -> list[Row]:
    """Return the rows of README's table of gains."""
    return [
        Row("NONTEMPORAL_WRITE", "time, 1 MiB", f"1 → {times(BEST, 'stream', MIB)}",
            f"1 → {times('Zen 4', 'stream', MIB)}", evidence(BENCH, BEST, "Zen 4")),
        Row("", "cycles, other task's line", line("bystander_256k"), line("bystander_2m"),
            evidence(BENCH, INTEL))]


def short(table: Table) -> str:
    """Return the writes of ROWS: how many times as long as plain copies, by CPU model."""
    blocks = table["blocks"]
    lines = [["", "bytes", *(cpu_name(each["machine"]) for each in blocks)]]
    for cell in select(blocks[-1]["cells"], copy="always"):
        if cell.measure in ROWS and cell.bytes in SIZES and cell.bypassed > BYPASSED:
            pairs = [both(each, cell.measure, cell.bytes) for each in blocks]
            lines.append([ROWS[cell.measure], str(cell.bytes),
                          *(f"{other / plain:.2f}" for plain, other in pairs)])
    return literal(tables.columns(lines))


def nontemporal(theme: str) -> Any:
    """Draw what a write past the caches takes of a plain one, and a line of another task's memory
    after it, a panel for each CPU model."""
    blocks = store.read("nontemporal", "bench_folio")["blocks"]
    figure, panels = start(len(blocks), "time past the caches / time through them")
    for axes, block in zip(panels, blocks):
        for measure, name, colour in (("stream", "the writer", THEMES[theme][0]),
                                      ("bystander_256k", "a task on its CPU, 256 KiB, a line",
                                       THEMES[theme][1])):
            found = sorted(by_row(block["cells"], measure=measure),
                           key=lambda row: row["plain"].bytes)
            axes.plot([row["plain"].bytes for row in found],
                      [row["always"].median / row["plain"].median for row in found], color=colour,
                      marker="o", ms=3, label=name)
        axes.axhline(1, color=THEMES[theme][2], lw=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks([1 << 12, 1 << 16, MIB], ["4 KiB", "64 KiB", "1 MiB"])
        axes.set_xlabel("a write of")
        axes.set_title(about(block), fontsize=9)
    panels[0].set_ylim(0)
    panels[0].legend(fontsize=8)
    return figure


FIGURES = Figures(
    (Timed("nontemporal", "bench_folio", bench_folio.run,
           ("selftests/nontemporal/folio.c", "tools/figures/claims.py", "tools/figures/tsc.h"),
           bench_folio.complaints, short),
     Modelled("nontemporal", model.PUBLISHED, model.page)), gains,
    {"nontemporal": Picture(
        f"{TIMED}: time of writes past the caches, 1: as long as through them", nontemporal)})
