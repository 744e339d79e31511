# SPDX-License-Identifier: GPL-2.0
"""README's row of colouring, whose gain was counted once (results/rings.rst, made of what
rings.json says), and its table."""
from selftests.colouring import bench
from tools.figures import store
from tools.figures.gains import age
from tools.figures.tables import Figures, Row, Timed


def misses(tasks: int) -> str:
    """Return the L2 misses of a switch in a ring of tasks over pipes, without and with all colours:
    the first table of rings.rst."""
    text = (store.PUBLISHED / "rings.rst").read_text(encoding="utf-8")
    row = next(words for line in text.splitlines() if len(words := line.split()) > 3
               and words[0] == str(tasks))
    return f"{row[1]} → {row[3]}"


def gains() -> list[Row]:
    """Return the row of README's table of gains."""
    return [Row("KSTACK_COLOUR, ...", "L2 misses, switch", misses(64), "6..9 % slower",
                f"model{age(store.load(store.PUBLISHED / 'rings.json'))}")]


FIGURES = Figures((Timed("colouring", "bench", bench.run,
                         ("selftests/colouring/lock.c", "tools/figures/tsc.h")),), gains)
