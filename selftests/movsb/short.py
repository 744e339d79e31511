# SPDX-License-Identifier: GPL-2.0
"""The short form of the table of slow rep movsb, for the group's page,
and README's row of gains."""
from __future__ import annotations

from typing import Any

from tools.model import tables
from tools.model.published import literal
from tools.results.cpus import cpu_name
from tools.results.figures import STAC_CLAC, Row, arrow, block, evidence
from tools.results.store import Table

SIZES = (1, 64, 128, 256, 1024, 4096, 65536)
# Distances of the columns
DISTANCES = (8, 24, 1024)
RANDOM = 4096    # in the column of distances: random ones
TABLE = "movsb/bench"
RECOMMENDED = True  # README says to switch it on


def at(cells: dict[str, Any], measure: str, size: int, distance: int) -> dict[str, list[float]]:
    """Return the copies of the row that has a size and distance; raises KeyError."""
    for cell, copies in cells.items():
        kind, bytes_of, deltas = cell.split("/")
        first, _, last = deltas.partition("-")
        if ((kind, int(bytes_of)) == (measure, size)
                and int(first) <= distance <= int(last or first)):
            return dict(copies)
    raise KeyError(f"{measure}/{size}: no distance {distance}")


def bench(table: Table) -> str:
    """Return mainline and the series by size and distance, back to back, for each CPU model."""
    parts = []
    for timed in table["blocks"]:
        cells = timed["cells"]
        rows = [["bytes", *(f"{head}, {name}" for head in (*DISTANCES, "random")
                            for name in ("mainline", "series"))]]
        for size in SIZES:
            copies = [at(cells, "hot", size, distance) for distance in DISTANCES]
            copies.append(cells.get(f"random/{size}/{RANDOM}", {}))
            rows.append([str(size), *(f"{row[name][0]:.1f}" if row else "-" for row in copies
                                      for name in ("movsb", "series"))])
        parts.append(literal(
            f"{cpu_name(timed['machine'])}, {timed['date']}, series {timed['series']}\n"
            "cycles of the time-stamp counter for a copy back to back, median, "
            "at three distances\n\n"
            f"{tables.columns(rows)}"))
    return "\n".join(parts)


def gains() -> list[Row]:
    """Return the rows of README's table of gains."""
    def pair(cpu: str, measure: str, size: int, distance: int) -> str:
        copies = at(block(TABLE, cpu)["cells"], measure, size, distance)
        return arrow(copies["movsb"][0], copies["series"][0], plus=STAC_CLAC)
    cost = (f"single copies of 128 bytes take {pair('Zen 3', 'isolated', 128, 1024)} cycles "
            f"(Zen 3), of 1 KiB {pair('Zen 4', 'isolated', 1024, 1024)} (Zen 4); back to back, "
            f"at random distances, 128 bytes {pair('Zen 4', 'random', 128, RANDOM)} (Zen 4)")
    return [
        Row("X86_MOVSB_DISTANCE", f"4 KiB copies, (dst - src) mod 4096 in 1..{last}",
            f"{pair(cpu, 'hot', 4096, 8)} cycles", evidence(TABLE, cpu),
            cost if cpu == "Zen 3" else "")
        for cpu, last in (("Zen 3", 31), ("Zen 4", 15))]
