# SPDX-License-Identifier: GPL-2.0
"""The timed writes never lose by themselves."""
from __future__ import annotations

import pytest

from selftests.bench.claims import check, losses
from selftests.bench.measure import measures_of
from selftests.nontemporal.bench_folio import WHAT, not_won
from selftests.results import store

pytestmark = pytest.mark.static


def test_never_loses() -> None:
    """The published rows of each CPU model; where past the caches is faster, fresh folios win."""
    blocks = store.read("nontemporal", "bench_folio")["blocks"]
    assert blocks
    for block in blocks:
        measures = measures_of(block)
        assert set(measures) == set(WHAT)
        check(losses((f"{name}/{size}", *(copies[of]["median"] for of in ("plain", "again", "auto")))
                     for name, sizes in measures.items() for size, copies in sizes.items()),
              "vm.nontemporal_write=2")
        if block["measured"]["nontemporal"] < block["measured"]["plain"]:
            assert not not_won(measures["fresh"])


def test_not_won() -> None:
    """A tenth is needed from 8 KiB on."""
    fresh = {size: {"plain": {"median": 100.0}, "auto": {"median": auto}}
             for size, auto in (("4096", 100.0), ("8192", 91.0), ("16384", 89.0))}
    assert not_won(fresh) == ["8192"]
