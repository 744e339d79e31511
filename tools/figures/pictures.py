# SPDX-License-Identifier: GPL-2.0
"""Pictures of published tables: Documentation/pictures/NAME-light.svg and NAME-dark.svg. What they
show is in selftests/GROUP/figures.py. matplotlib is there after `make tools`, so it is imported to
draw alone.

`tools/run tools.figures pictures` draws them again. They have no date of their own, no random
names and no path, so that the same tables give the same bytes.
"""
import io
import re
from pathlib import Path
from typing import Any

from tools.figures import store, tables
from tools.figures.cells import Block
from tools.figures.machine import cpu_name
from tools.figures.tables import Picture

PICTURES = store.ROOT / "Documentation/pictures"
# Before and after, text and lines, behind both
THEMES = {"light": ("#b03030", "#2060a0", "#24292f", "#ffffff"),
          "dark": ("#ff7b72", "#79c0ff", "#e6edf3", "#0d1117")}
# What the title of a timed table's picture begins with
TIMED = "Timed in user space in guests, median"


def style(theme: str) -> dict[str, Any]:
    """Return matplotlib's settings of a theme."""
    _, _, text, behind = THEMES[theme]
    return {"svg.hashsalt": "cache-footprint", "svg.fonttype": "none", "font.size": 10,
            "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
            "axes.spines.right": False, "figure.facecolor": behind, "axes.facecolor": behind,
            **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color",
                             "ytick.color", "grid.color"), text),
            "legend.frameon": False}


def about(block: Block) -> str:
    """Return a block's CPU model and date."""
    return f"{cpu_name(block['machine'])}, {block['date']}"


def start(panels: int, values: str) -> tuple[Any, list[Any]]:
    """Return a figure with panels, two in a row to be readable on a narrow screen, that have one
    axis of values, with its label."""
    from matplotlib.figure import Figure
    rows, columns = (panels + 1) // 2, min(panels, 2)
    figure = Figure(figsize=(3.6 * columns, 2.9 * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, sharey=True, squeeze=False).flat)
    figure.supylabel(values, fontsize=9)
    for unused in axes[panels:]:
        unused.remove()
    return figure, axes[:panels]


def drawn() -> dict[str, Picture]:
    """Return all pictures by name."""
    return {name: picture for figures in tables.groups().values()
            for name, picture in figures.pictures.items()}


def draw(name: str, theme: str) -> bytes:
    """Return a picture as SVG; raises KeyError and OSError for a table that is not as it was."""
    import matplotlib
    picture = drawn()[name]
    with matplotlib.rc_context(style(theme)):
        figure = picture.draw(theme)
        figure.suptitle(picture.title, fontsize=10)
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
