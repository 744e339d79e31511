# SPDX-License-Identifier: GPL-2.0
"""Slow rep movsb: the short form of the table, for the group's page, README's rows of gains, and
pictures of cycles by the distance of the addresses, a panel for each CPU model."""
from typing import Any

from selftests.movsb import bench, bench_programs
from selftests.movsb.site import last_distance
from tools.figures import store
from tools.figures.cells import Block, Cell, by_row, select
from tools.figures.gains import STAC_CLAC, arrow, block_of, evidence
from tools.figures.pictures import THEMES, TIMED, about, start
from tools.figures.store import Table
from tools.figures.tables import Figures, Picture, Row, Timed
from tools.model import tables
from tools.model.published import literal

SIZES = (128, 1024, 4096)
# Distances of the rows; CPUs without the check have the first one
DISTANCES = (8, 24, 1024)
RANDOM = 4096    # among the distances: random ones
TABLE = "movsb/bench"
# Of the axis
TICKS = (0, 1, 4, 16, 64, 256, 1024, 4095)


def at(block: Block, measure: str, size: int, distance: int) -> dict[str, Cell]:
    """Return the copies of the row that has a size and distance; raises KeyError."""
    for copies in by_row(block["cells"], measure=measure, bytes=size):
        cell = next(iter(copies.values()))
        if cell.delta_first <= distance <= cell.delta_last:
            return copies
    raise KeyError(f"{measure}/{size}: no distance {distance}")


def cycles(value: float) -> str:
    """Return a median: of 1000 cycles and more whole ones."""
    return f"{value:.{int(value < 1000)}f}"


def short(table: Table) -> str:
    """Return mainline and the series by CPU model, distance and size, back to back."""
    lines = [["cycles, mainline/series", "distance", *(f"{size} bytes" for size in SIZES)]]
    for timed in table["blocks"]:
        checked = bool(last_distance(timed["machine"]))
        rows = {str(distance): [at(timed, "hot", size, distance) for size in SIZES]
                for distance in (DISTANCES if checked else DISTANCES[:1])}
        if checked:
            rows["random"] = [at(timed, "random", size, RANDOM) for size in SIZES]
        lines += [["", distance, *("/".join(cycles(row[name].median)
                                            for name in ("movsb", "series")) for row in copies)]
                  for distance, copies in rows.items()]
        lines[-len(rows)][0] = about(timed)
    return literal(tables.columns(lines))


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    def pair(measure: str, size: int, distance: int) -> str:
        copies = at(block_of(TABLE, "Zen 3"), measure, size, distance)
        return arrow(copies["movsb"].median, copies["series"].median, plus=STAC_CLAC)
    return [Row("X86_MOVSB_DISTANCE", "cycles, copy", pair('hot', 4096, 8),
                pair('isolated', 128, 1024), evidence(TABLE, "Zen 3"))]


def by_distance(block: Block, measure: str, size: int, copy: str) -> tuple[list[int], list[float]]:
    """Return distances and median cycles of a copy: a step where the next row begins, a slope over
    distances that were not timed."""
    spans = {cell.delta_first: cell for cell in select(block["cells"], measure=measure, bytes=size,
                                                       copy=copy)}
    distances, cycles = [], []
    for first, cell in sorted(spans.items()):
        distances += [first, cell.delta_last + (cell.delta_last + 1 in spans)]
        cycles += [cell.median, cell.median]
    return distances, cycles


def distance_axis(axes: Any) -> None:
    """Give an axis of distances, which has 0, and a logarithmic one of cycles."""
    from matplotlib.ticker import LogLocator
    axes.set_xscale("symlog", base=2, linthresh=1, linscale=0.5)
    axes.set_xticks(TICKS, [str(at) for at in TICKS])
    axes.set_xlim(0, TICKS[-1])
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_xlabel("(dst - src) mod 4096, bytes")


def movsb_distance(theme: str) -> Any:
    """Draw a copy of 4 KiB, mainline's and the series', a panel for each CPU model."""
    blocks = [block for block in store.read("movsb", "bench")["blocks"]
              if by_distance(block, "hot", 4096, "series")[0]]
    figure, panels = start(len(blocks),
                           f"cycles, of which {STAC_CLAC} are assumed for STAC and CLAC")
    for axes, block in zip(panels, blocks):
        for copy, name, colour in (("movsb", "mainline", THEMES[theme][0]),
                                   ("series", "this series", THEMES[theme][1])):
            distances, cycles = by_distance(block, "hot", 4096, copy)
            axes.plot(distances, [value + STAC_CLAC for value in cycles], color=colour, label=name,
                      ls="-" if copy == "movsb" else "--", lw=1.6)
        distance_axis(axes)
        axes.set_title(about(block), fontsize=9)
    panels[0].legend(fontsize=8)
    return figure


def pread_distance(theme: str) -> Any:
    """Draw pread() on the kernel that ran, a panel for each CPU model."""
    blocks = [block for block in store.read("movsb", "bench")["blocks"]
              if by_distance(block, "calls", 32768, "pread")[0]]
    figure, panels = start(len(blocks), "cycles of pread() of 32 KiB")
    for axes, block in zip(panels, blocks):
        axes.plot(*by_distance(block, "calls", 32768, "pread"), color=THEMES[theme][0], lw=1.6)
        distance_axis(axes)
        axes.set_title(about(block), fontsize=9)
    return figure


FIGURES = Figures((
    # rep_movs_alternative() is of the preparations
    Timed("movsb", "bench", bench.run,
          ("selftests/movsb/distance.c", "selftests/movsb/site.py", "tools/figures/claims.py",
           "tools/figures/returns.py", "tools/figures/tsc.h", "patches of preparations"),
          bench.complaints, short),
    Timed("movsb", "bench_programs", bench_programs.run,
          ("selftests/movsb/shim.c", "selftests/movsb/distances.c"))), gains, {
        "movsb-distance": Picture(
            f"{TIMED}: cycles of a 4 KiB copy by the distance of its addresses", movsb_distance),
        "pread-distance": Picture(
            f"{TIMED}: cycles of pread() of 32 KiB on an unpatched kernel", pread_distance)},
    recommended=True)
