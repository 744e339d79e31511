# SPDX-License-Identifier: GPL-2.0
"""The picture of non-temporal writes: what the writer and another task take, by size."""
from __future__ import annotations

from matplotlib.figure import Figure

from tools.results import store
from tools.results.pictures import THEMES, TIMED, about, start

MOST_BYTES = 1 << 20


def nontemporal(theme: str) -> Figure:
    """Draw what a write past the caches takes of a plain one, and a line of another task's memory
    after it, a panel for each CPU model."""
    blocks = [block for block in store.read("nontemporal", "bench_folio")["blocks"]
              if "stream/4096" in block["cells"]]
    figure, panels = start(len(blocks), "time past the caches / time through them")
    for axes, block in zip(panels, blocks):
        for measure, name, colour in (("stream", "the writer", THEMES[theme][0]),
                                      ("bystander_256k", "a task on its CPU, 256 KiB, a line",
                                       THEMES[theme][1])):
            sizes = sorted(int(cell.rpartition("/")[2]) for cell in block["cells"]
                           if cell.rpartition("/")[0] == measure)
            rows = [block["cells"][f"{measure}/{size}"] for size in sizes]
            axes.plot(sizes, [row["always"][0] / row["plain"][0] for row in rows], color=colour,
                      marker="o", ms=3, label=name)
        axes.axhline(1, color=THEMES[theme][2], lw=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks([1 << 12, 1 << 16, MOST_BYTES], ["4 KiB", "64 KiB", "1 MiB"])
        axes.set_xlabel("a write of")
        axes.set_title(about(block), fontsize=9)
    panels[0].set_ylim(0)
    panels[0].legend(fontsize=8)
    return figure


DRAWN = {"nontemporal": (f"{TIMED}: time of writes past the caches, 1: as long as through them",
                         nontemporal)}
