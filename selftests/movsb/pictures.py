# SPDX-License-Identifier: GPL-2.0
"""Pictures of slow rep movsb: cycles by the distance of the addresses,
a panel for each CPU model."""
from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from tools.results import store
from tools.results.figures import STAC_CLAC
from tools.results.pictures import THEMES, TIMED, about, start

DISTANCES = (0, 1, 4, 16, 64, 256, 1024, 4095)


def by_distance(block: dict[str, Any], rows: str, copy: str) -> tuple[list[int], list[float]]:
    """Return distances and median cycles of a copy, from rows MEASURE/BYTES/FIRST-LAST: a step
    where the next row begins, a slope over distances that were not timed."""
    spans = {}
    for cell, copies in block["cells"].items():
        measure, _, span = cell.rpartition("/")
        if measure == rows and copy in copies:
            first, _, last = span.partition("-")
            spans[int(first)] = int(last or first), copies[copy][0]
    at, cycles = [], []
    for first, (last, value) in sorted(spans.items()):
        at += [first, last + (last + 1 in spans)]
        cycles += [value, value]
    return at, cycles


def distance_axis(axes: Axes) -> None:
    """Give an axis of distances, which has 0, and a logarithmic one of cycles."""
    axes.set_xscale("symlog", base=2, linthresh=1, linscale=0.5)
    axes.set_xticks(DISTANCES, [str(at) for at in DISTANCES])
    axes.set_xlim(0, DISTANCES[-1])
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_xlabel("(dst - src) mod 4096, bytes")


def movsb_distance(theme: str) -> Figure:
    """Draw a copy of 4 KiB, mainline's and the series', a panel for each CPU model."""
    blocks = [block for block in store.read("movsb", "bench")["blocks"]
              if by_distance(block, "hot/4096", "series")[0]]
    figure, panels = start(len(blocks),
                           f"cycles, of which {STAC_CLAC} are assumed for STAC and CLAC")
    for axes, block in zip(panels, blocks):
        for copy, name, colour in (("movsb", "mainline", THEMES[theme][0]),
                                   ("series", "this series", THEMES[theme][1])):
            at, cycles = by_distance(block, "hot/4096", copy)
            axes.plot(at, [value + STAC_CLAC for value in cycles], color=colour, label=name,
                      ls="-" if copy == "movsb" else "--", lw=1.6)
        distance_axis(axes)
        axes.set_title(about(block), fontsize=9)
    panels[0].legend(fontsize=8)
    return figure


def pread_distance(theme: str) -> Figure:
    """Draw pread() on the kernel that ran, a panel for each CPU model."""
    blocks = [block for block in store.read("movsb", "bench")["blocks"]
              if by_distance(block, "calls/32768", "pread")[0]]
    figure, panels = start(len(blocks), "cycles of pread() of 32 KiB")
    for axes, block in zip(panels, blocks):
        axes.plot(*by_distance(block, "calls/32768", "pread"), color=THEMES[theme][0], lw=1.6)
        distance_axis(axes)
        axes.set_title(about(block), fontsize=9)
    return figure


DRAWN = {"movsb-distance": (f"{TIMED}: cycles of a 4 KiB copy by the distance of its addresses",
                            movsb_distance),
         "pread-distance": (f"{TIMED}: cycles of pread() of 32 KiB on an unpatched kernel",
                            pread_distance)}
