# SPDX-License-Identifier: GPL-2.0
"""What the published counts say is what the group promises."""
import statistics

import pytest

from selftests.nontemporal.model import ALONE, PERTURB, WRITES
from tools.figures import store

pytestmark = pytest.mark.static
MORE_PERCENT = 3
MORE_INSTRUCTIONS = 60


def test_bystander_pct() -> None:
    """Who shares a cache with writers that bypass it misses as much as alone."""
    cells = store.read("nontemporal", "model")["cells"]
    alone, bypass = (statistics.median(cells[f"bystander-{name}-{perturb}/bystander"]["llc"]
                                       for perturb in PERTURB) for name in (ALONE, "bypass"))
    assert alone > 0 and 100 * (bypass / alone - 1) <= MORE_PERCENT


def test_write_cost() -> None:
    """A write to which nothing applies executes a few instructions more."""
    cells = store.read("nontemporal", "model")["cells"]
    off, on = ({label.split("/")[1]: cell["instructions"] / cell["units"]
                for label, cell in cells.items() if label.startswith(f"writes-{name}/")}
               for name in WRITES)
    assert set(off) == {"write_1", "write_512", "write_4096"}
    assert all(0 <= on[label] - off[label] <= MORE_INSTRUCTIONS for label in off), (off, on)
