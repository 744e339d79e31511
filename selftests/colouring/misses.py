# SPDX-License-Identifier: GPL-2.0
"""Which loads of an endless walk over cache lines miss two levels of caches, by arithmetic."""
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Cache(NamedTuple):
    """Number of sets and ways."""

    sets: int
    ways: int


def lines_by_set(lines: Iterable[int], cache: Cache) -> Counter[int]:
    """Return how many lines fall into each set that is used."""
    return Counter(line % cache.sets for line in lines)


def misses(lines: Sequence[int], l1: Cache, l2: Cache) -> tuple[float, float]:
    """Return the shares of loads that miss L1D and L2, LRU, of an endless walk over distinct lines.

    Exact: LRU keeps all lines of a set that has no more of them than ways, and none of one that has
    more, as each line comes back after all others. L2 sees what misses L1D and nothing else.
    """
    used = lines_by_set(lines, l1)
    missed = [line for line in lines if used[line % l1.sets] > l1.ways]
    again = lines_by_set(missed, l2)
    both = sum(again[line % l2.sets] > l2.ways for line in missed)
    return len(missed) / len(lines), both / len(lines)
