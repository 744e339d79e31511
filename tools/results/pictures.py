# SPDX-License-Identifier: GPL-2.0
"""Pictures of published tables: Documentation/pictures/NAME-light.svg and NAME-dark.svg. What they
show is in selftests/GROUP/pictures.py, which has DRAWN: by name, the title and what draws it.

`python -m tools.results pictures` draws them again. They have no date of their own, no random
names and no path, so that the same tables give the same bytes.
"""
from __future__ import annotations

import importlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tools.results import store
from tools.results.cpus import cpu_name

PICTURES = store.ROOT / "Documentation/pictures"
# Before and after, text and lines, behind both
THEMES = {"light": ("#b03030", "#2060a0", "#24292f", "#ffffff"),
          "dark": ("#ff7b72", "#79c0ff", "#e6edf3", "#0d1117")}
# What the title of a timed table's picture begins with
TIMED = "Timed in user space in guests, median"
# What draws a theme's figure
Draw = Callable[[str], Figure]


def style(theme: str) -> dict[str, Any]:
    """Return matplotlib's settings of a theme."""
    _, _, text, behind = THEMES[theme]
    return {"svg.hashsalt": "cache-footprint", "svg.fonttype": "none", "font.size": 10,
            "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
            "axes.spines.right": False, "figure.facecolor": behind, "axes.facecolor": behind,
            **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color",
                             "ytick.color", "grid.color"), text),
            "legend.frameon": False}


def about(block: dict[str, Any]) -> str:
    """Return a block's CPU model and date."""
    return f"{cpu_name(block['machine'])}, {block['date']}"


def start(panels: int, values: str) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels, two in a row to be readable on a narrow screen, that have one
    axis of values, with its label."""
    rows, columns = (panels + 1) // 2, min(panels, 2)
    figure = Figure(figsize=(3.6 * columns, 2.9 * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, sharey=True, squeeze=False).flat)
    figure.supylabel(values, fontsize=9)
    for unused in axes[panels:]:
        unused.remove()
    return figure, axes[:panels]


def drawn() -> dict[str, tuple[str, Draw]]:
    """Return the title of each picture, and what draws it, by name."""
    found: dict[str, tuple[str, Draw]] = {}
    for path in sorted(store.ROOT.glob("selftests/*/pictures.py")):
        found |= importlib.import_module(f"selftests.{path.parent.name}.pictures").DRAWN
    return found


def draw(name: str, theme: str) -> bytes:
    """Return a picture as SVG; raises KeyError and OSError for a table that is not as it was."""
    title, what = drawn()[name]
    with matplotlib.rc_context(style(theme)):
        figure = what(theme)
        figure.suptitle(title, fontsize=10)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(rb"[ \t]+\n", b"\n", out.getvalue())


def files() -> dict[Path, tuple[str, str]]:
    """Return the name and theme of each picture by its file."""
    return {PICTURES / f"{name}-{theme}.svg": (name, theme) for name in drawn() for theme in THEMES}


def draw_all() -> None:
    """Write all pictures; raises as draw()."""
    PICTURES.mkdir(exist_ok=True)
    for path, picture in files().items():
        path.write_bytes(draw(*picture))
