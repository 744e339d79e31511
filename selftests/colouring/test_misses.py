# SPDX-License-Identifier: GPL-2.0
"""A simulated cache misses as the original measured; lock.c runs."""
import json
import random
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

import pytest

from selftests.colouring import bench
from tools.figures.measure import command

pytestmark = pytest.mark.static


class Cache(NamedTuple):
    """Number of sets and ways."""

    sets: int
    ways: int


def lru(accesses: list[int], cache: Cache) -> list[bool]:
    """Say of each access whether it misses, line by line."""
    sets: dict[int, OrderedDict[int, None]] = {}
    missed = []
    for line in accesses:
        ways = sets.setdefault(line % cache.sets, OrderedDict())
        missed.append(line not in ways)
        ways[line] = None
        ways.move_to_end(line)
        if len(ways) > cache.ways:
            ways.popitem(last=False)
    return missed


def l2_misses(lines: list[int], l1: Cache, l2: Cache) -> float:
    """Return the share of the fourth of four walks over lines that misses L1 and L2."""
    first = lru(lines * 4, l1)
    to_l2 = [i for i, miss in enumerate(first) if miss]
    second = lru([(lines * 4)[i] for i in to_l2], l2)
    return sum(miss for i, miss in zip(to_l2, second, strict=True)
               if i >= 3 * len(lines)) / len(lines)


def test_walk_of_2001() -> None:
    """The original's walk misses L2 as it measured: 96.9 % of the reads, 17.9 % with colours.

    A line of 32 bytes at the bottom of each area of 8 KiB, areas anywhere in 512 MiB; Pentium III
    Xeon; four colours by the address bits 18 and 19. The number of areas is chosen to fit.
    """
    l1, l2, line, area = Cache(128, 4), Cache(8192, 4), 32, 8192
    shares: dict[int, list[float]] = {1: [], 4: []}
    for seed in range(50):
        places = random.Random(seed).sample(range((512 << 20) // area), 272)
        for colours, missed in shares.items():
            walk = [place * area // line + (place * area >> 18) % colours for place in places]
            missed.append(100 * l2_misses(walk, l1, l2))
    plain, coloured = (sum(missed) / len(missed) for missed in shares.values())
    assert abs(plain - 96.9) < 1 and abs(coloured - 17.9) < 2


def test_lock(tmp_path: Path) -> None:
    """lock.c prints mean, maximum and share of each number of tasks and layout."""
    program = bench.build(tmp_path)
    rows = [json.loads(line) for line in command(program, "1024", "1").splitlines()]
    cycles = {(row["cell"], row["layout"]): row["cycles"] for row in rows}
    assert len(cycles) == len(rows) == 4 * 3 * 3
    for tasks in (64, 256, 1024, 4096):
        for layout in ("uncoloured", "uncoloured_again", "4"):
            mean, longest, share = (cycles[f"{tasks}_{what}", layout]
                                    for what in ("mean", "max", "contended"))
            assert 0 < mean <= longest and 0 <= share <= 100
