# SPDX-License-Identifier: GPL-2.0
"""The arithmetic of the calibration: what each pattern of modules/calibrate.c must count for a
geometry. Nothing here simulates a cache: a line that is read for the first time misses everywhere,
and lines that are read in turn again and again all hit in a set that has a way for each of them and
all miss in one that has fewer ways (LRU)."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

KIB, LINE = 1024, 64
LEVELS = ("l1d", "l2", "llc")


@dataclass
class Expected:
    """Counts of one pattern; misses of loads and of stores by level."""

    loads: int = 0
    stores: int = 0
    stores_nt: int = 0
    load_misses: list[int] = field(default_factory=lambda: [0, 0, 0])
    store_misses: list[int] = field(default_factory=lambda: [0, 0, 0])
    writebacks: int = 0

    def as_counts(self) -> dict[str, Any]:
        """Return them as the result of a label has them."""
        return {"loads": self.loads, "stores": self.stores,
                "stores_nt": self.stores_nt,
                "load_misses": dict(zip(LEVELS, self.load_misses)),
                "store_misses": dict(zip(LEVELS, self.store_misses)),
                "writebacks": self.writebacks}


def sets_and_ways(cache: dict[str, Any]) -> tuple[int, int]:
    """Return the number of sets and ways; a fully associative one has one set."""
    lines = cache["size"] // LINE
    ways = lines if cache["ways"] == "full" else cache["ways"]
    return lines // ways, ways


def lines_of(stride: int, count: int) -> list[int]:
    """Return the lines of count places, stride bytes apart, each once."""
    return sorted({place * stride // LINE for place in range(count)})


def cold(stride: int, count: int) -> list[int]:
    """Return the misses by level of places that no cache holds."""
    return [len(lines_of(stride, count))] * 3


def in_turn(geometry: dict[str, Any], stride: int, count: int, passes: int) -> list[int]:
    """Return the misses by level of passes over places that were gone through before; each pass
    reads each line once. A level sees what the one before it missed."""
    stream, missed = lines_of(stride, count), []
    for level in LEVELS:
        sets, ways = sets_and_ways(geometry[level])
        in_set = Counter(line % sets for line in stream)
        stream = [line for line in stream if in_set[line % sets] > ways]
        missed.append(passes * len(stream))
    return missed


def reads(geometry: dict[str, Any]) -> dict[str, Expected]:
    """Return the patterns of reads: cold ones, then four passes in turn."""
    expected = {f"stride_{stride}": Expected(
        loads=64 * KIB // stride, load_misses=cold(stride, 64 * KIB // stride))
        for stride in (8, 64, 128, 256)}
    steady = {"capacity_l1": (LINE, 32 * KIB // LINE),
              "over_l1": (LINE, 36 * KIB // LINE),
              "capacity_l2": (LINE, 256 * KIB // LINE),
              "over_l2": (LINE, 288 * KIB // LINE),
              "capacity_llc": (LINE, 1024 * KIB // LINE),
              "over_llc": (LINE, 1088 * KIB // LINE),
              "ways_l1": (4 * KIB, 8), "conflict_l1": (4 * KIB, 9),
              "ways_l2": (32 * KIB, 8), "conflict_l2": (32 * KIB, 9),
              "ways_llc": (64 * KIB, 16), "conflict_llc": (64 * KIB, 17)}
    for name, (stride, count) in steady.items():
        expected[name] = Expected(loads=4 * count, load_misses=in_turn(geometry, stride, count, 4))
    return expected


def writes(geometry: dict[str, Any]) -> dict[str, Expected]:
    """Return the patterns of 64 KiB that are written twice and pushed out by
    reads of 3 MiB, which is more than the caches hold."""
    count, pushed = 64 * KIB // LINE, 3072 * KIB // LINE
    return {
        "write_cold": Expected(stores=count, store_misses=cold(LINE, count)),
        "write_again": Expected(
            stores=count, store_misses=in_turn(geometry, LINE, count, 1)),
        "write_back": Expected(loads=pushed, load_misses=cold(LINE, pushed),
                               writebacks=count),
        "write_clean": Expected(loads=1024 * KIB // LINE, load_misses=cold(
            LINE, 1024 * KIB // LINE))}


def non_temporal(geometry: dict[str, Any]) -> dict[str, Expected]:
    """Return the patterns of 16 KiB of movnti, eight stores for a line: none brings a line in. One
    that hits takes the line out, dirty to memory, or leaves it (nt=keep)."""
    count, stores = 16 * KIB // LINE, 16 * KIB // 8
    keep = geometry["nt"] == "keep"
    return {
        "nt_cold": Expected(stores_nt=stores),
        "nt_read_back": Expected(loads=count, load_misses=cold(LINE, count)),
        "nt_hit": Expected(stores_nt=stores),
        "nt_hit_read": Expected(
            loads=count, load_misses=in_turn(geometry, LINE, count, 1) if keep
            else cold(LINE, count)),
        "nt_dirty": Expected(stores_nt=stores, writebacks=0 if keep else count)}


def split() -> dict[str, Expected]:
    """Return sixteen loads of eight bytes, four of them in the next line."""
    return {"split": Expected(loads=32, load_misses=[32] * 3)}


def sharing() -> dict[str, Expected]:
    """Return 16 KiB that one CPU writes and another reads, twice. The writer keeps its lines, the
    reader finds them in the LLC; a write takes them away from the reader."""
    count = 16 * KIB // LINE
    from_llc = Expected(loads=count, load_misses=[count, count, 0])
    return {"cpu0_writes": Expected(stores=count, store_misses=cold(LINE, count)),
            "cpu1_reads": from_llc,
            "cpu0_writes_again": Expected(stores=count),
            "cpu1_reads_again": from_llc}


def user() -> dict[str, Expected]:
    """Return the walk of guest/calibrate.c over 16 KiB in user space."""
    count = 16 * KIB // LINE
    return {"user": Expected(loads=count, load_misses=cold(LINE, count))}


def expected(geometry: dict[str, Any]) -> dict[str, Expected]:
    """Return all patterns by name. geometry: as in a result, sizes in bytes.

    Raises ValueError for one that this arithmetic does not hold for: the 3 MiB
    of reads must push all else out, 16 KiB must fit L1D, 64 KiB the LLC.
    """
    sizes = [geometry[level]["size"] for level in LEVELS]
    if (geometry["policy"] != "lru" or sizes[0] < 16 * KIB or sizes[2] < 64 * KIB
            or sum(sizes) >= 3072 * KIB):
        raise ValueError("the arithmetic is for LRU, an L1D of 16 KiB and more, an "
                         "LLC of 64 KiB and more, and less than 3 MiB in all")
    return {**reads(geometry), **writes(geometry), **non_temporal(geometry),
            **split(), **sharing(), **user()}


def compare(result: dict[str, Any], patterns: dict[str, Expected]) -> None:
    """Fail unless each pattern was counted, and as arithmetic says."""
    assert patterns
    for name, pattern in patterns.items():
        assert name in result["labels"], f"{name} was not counted"
    wrong = {name: (counted, pattern.as_counts()) for name, pattern in patterns.items()
             if (counted := {key: result["labels"][name][key] for key in pattern.as_counts()}) != pattern.as_counts()}
    assert not wrong, f"counted, and by arithmetic: {wrong}"
