# SPDX-License-Identifier: GPL-2.0
"""The picture of immediate values: what 4096 reads add to a system call,
as loads and as immediates."""
from __future__ import annotations

from matplotlib.figure import Figure

from selftests.immediate.bench import CACHES_OF, added
from tools.results import store
from tools.results.pictures import THEMES, TIMED, about, start

WIDTH = 0.38


def immediate_reads(theme: str) -> Figure:
    """Draw the cycles that 4096 reads of four and eight bytes add, by caches, a row of panels for
    each CPU model."""
    blocks = store.read("immediate", "bench")["blocks"]
    figure, panels = start(2 * len(blocks), "cycles added to a getppid()")
    for axes, (block, width) in zip(panels, ((block, width)
                                             for block in blocks for width in (32, 64))):
        for number, form in enumerate(("loads", "immediates")):
            axes.bar([at + WIDTH * (number - 0.5) for at in range(len(CACHES_OF))],
                     [added(block, f"u{width}_4096_{caches}", form) for caches in CACHES_OF],
                     WIDTH, color=THEMES[theme][number], label=form)
        axes.set_xticks(range(len(CACHES_OF)), CACHES_OF.values())
        axes.set_title(f"{width // 8} bytes, {about(block)}", fontsize=9)
    panels[0].legend(fontsize=8)
    return figure


DRAWN = {"immediate-reads": (f"{TIMED}: 4096 reads", immediate_reads)}
