# SPDX-License-Identifier: GPL-2.0
"""The table of rep_movs_alternative(), before and with the series."""
from selftests.preparations import bench
from tools.figures.tables import Figures, Timed

FIGURES = Figures((Timed(
    "preparations", "bench", bench.run,
    ("selftests/preparations/rep_movs.c", "tools/figures/returns.py", "tools/figures/tsc.h"),
    bench.complaints),))
