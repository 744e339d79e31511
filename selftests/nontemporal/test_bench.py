# SPDX-License-Identifier: GPL-2.0
"""The timed writes are not slower with the default minimum, and gain what the group promises."""
from __future__ import annotations

from typing import Any

import pytest

from selftests.nontemporal.bench_folio import complaints
from selftests.nontemporal.short import SLOWER, gains, line, times
from tools.results import store
from tools.results.cpus import cpu_name

pytestmark = pytest.mark.static
# Of this one DEMANDED is not asked: its rows are published, whatever they are
PUBLISHED_ONLY = "Zen 5"


def wrong(blocks: list[dict[str, Any]]) -> list[str]:
    """Return what the rule of the table says against its blocks of today's program,
    but for SLOWER."""
    todays = [block for block in blocks if "minimum" in block]
    if not any(cpu_name(block["machine"]) != PUBLISHED_ONLY for block in todays):
        return ["not shown on any CPU model"]
    return [said for block in todays for said in complaints(block)
            if (cpu_name(block["machine"]), said.partition(":")[0]) not in SLOWER
            and (cpu_name(block["machine"]) != PUBLISHED_ONLY or ": default" in said)]


def test_never_loses() -> None:
    """The published rows in which the caches are bypassed are as the rule says; what README names
    as slower is slower."""
    blocks = store.read("nontemporal", "bench_folio")["blocks"]
    assert not wrong(blocks)
    slower = {(cpu_name(block["machine"]), said.partition(":")[0])
              for block in blocks if "minimum" in block for said in complaints(block)}
    assert SLOWER <= slower
    costs = " ".join(row.cost for row in gains())
    assert line("bystander_2m/1048576", "default") in costs
    assert f"1 MiB take {times('Zen 4', 'stream/1048576')} times as long" in costs
