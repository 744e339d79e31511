# SPDX-License-Identifier: GPL-2.0
"""The arithmetic of the calibration: what each pattern of modules/calibrate.c must count for a
geometry. Nothing here simulates a cache: a line that is read for the first time misses everywhere,
and lines that are read in turn again and again all hit in a set that has a way for each of them and
all miss in one that has fewer ways (LRU)."""
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tools.model.result import LEVELS

KIB, LINE = 1024, 64


@dataclass
class Expected:
    """Counts of one pattern; misses of loads and of stores by level."""

    loads: int = 0
    stores: int = 0
    stores_nt: int = 0
    load_misses: tuple[int, ...] = (0, 0, 0)
    store_misses: tuple[int, ...] = (0, 0, 0)
    writebacks: int = 0

    def as_counts(self) -> dict[str, Any]:
        """Return them as the result of a label has them."""
        return {name: dict(zip(LEVELS, value)) if isinstance(value, tuple) else value
                for name, value in vars(self).items()}


def lines_of(stride: int, count: int) -> list[int]:
    """Return the lines of count places, stride bytes apart, each once."""
    return sorted({place * stride // LINE for place in range(count)})


def cold(stride: int, count: int) -> tuple[int, ...]:
    """Return the misses by level of places that no cache holds."""
    return (len(lines_of(stride, count)),) * 3


def in_turn(geometry: dict[str, Any], stride: int, count: int, passes: int) -> tuple[int, ...]:
    """Return the misses by level of passes over places that were gone through before; each pass
    reads each line once. A level sees what the one before it missed."""
    stream, missed = lines_of(stride, count), []
    for level in LEVELS:
        lines = geometry[level]["size"] // LINE
        ways = lines if geometry[level]["ways"] == "full" else geometry[level]["ways"]
        sets = lines // ways
        in_set = Counter(line % sets for line in stream)
        stream = [line for line in stream if in_set[line % sets] > ways]
        missed.append(passes * len(stream))
    return tuple(missed)


# Patterns that are read in turn: stride and count
STEADY = {
    **{f"{name}_{level}": (LINE, kib * KIB // LINE) for name, level, kib in (
        ("capacity", "l1", 32), ("over", "l1", 36), ("capacity", "l2", 256), ("over", "l2", 288),
        ("capacity", "llc", 1024), ("over", "llc", 1088))},
    "ways_l1": (4 * KIB, 8), "conflict_l1": (4 * KIB, 9),
    "ways_l2": (32 * KIB, 8), "conflict_l2": (32 * KIB, 9),
    "ways_llc": (64 * KIB, 16), "conflict_llc": (64 * KIB, 17)}


def expected(geometry: dict[str, Any]) -> dict[str, Expected]:
    """Return all patterns by name. geometry: as in a result, sizes in bytes.

    Raises ValueError for one that this arithmetic does not hold for: the 3 MiB
    of reads must push all else out, 16 KiB must fit L1D, 64 KiB the LLC.
    """
    sizes = [geometry[level]["size"] for level in LEVELS]
    if sizes[0] < 16 * KIB or sizes[2] < 64 * KIB or sum(sizes) >= 3072 * KIB:
        raise ValueError("the arithmetic is for an L1D of 16 KiB and more, an LLC of 64 KiB and "
                         "more, and less than 3 MiB in all")
    large, small, stores_nt = 64 * KIB // LINE, 16 * KIB // LINE, 16 * KIB // 8

    def cold_loads(bytes_: int) -> Expected:
        return Expected(loads=bytes_ // LINE, load_misses=cold(LINE, bytes_ // LINE))

    # The reader finds in the LLC what the other CPU wrote; a write takes that away from it
    from_llc = Expected(loads=small, load_misses=(small, small, 0))
    written_back = cold_loads(3072 * KIB)
    written_back.writebacks = large
    return {
        **{f"stride_{stride}": Expected(
            loads=64 * KIB // stride, load_misses=cold(stride, 64 * KIB // stride))
           for stride in (8, 64, 128, 256)},
        # Four passes
        **{name: Expected(loads=4 * count, load_misses=in_turn(geometry, stride, count, 4))
           for name, (stride, count) in STEADY.items()},
        # 64 KiB are written twice and pushed out by reads of 3 MiB, more than the caches hold
        "write_cold": Expected(stores=large, store_misses=cold(LINE, large)),
        "write_again": Expected(stores=large, store_misses=in_turn(geometry, LINE, large, 1)),
        "write_back": written_back,
        "write_clean": cold_loads(1024 * KIB),
        # movnti brings no line in, and takes one that it hits out
        "nt_cold": Expected(stores_nt=stores_nt),
        "nt_read_back": cold_loads(16 * KIB),
        "nt_hit": Expected(stores_nt=stores_nt),
        "nt_hit_read": cold_loads(16 * KIB),
        "nt_dirty": Expected(stores_nt=stores_nt, writebacks=small),
        # Sixteen loads of eight bytes, four of them in the next line
        "split": Expected(loads=32, load_misses=(32, 32, 32)),
        "cpu0_writes": Expected(stores=small, store_misses=cold(LINE, small)),
        "cpu1_reads": from_llc,
        "cpu0_writes_again": Expected(stores=small),
        "cpu1_reads_again": from_llc,
        # In user space, see guest/calibrate.c
        "user": cold_loads(16 * KIB)}


def compare(result: dict[str, Any], patterns: dict[str, Expected]) -> None:
    """Fail unless each pattern was counted, and as arithmetic says."""
    assert patterns
    wrong = {}
    for name, pattern in patterns.items():
        assert name in result["labels"], f"{name} was not counted"
        wanted = pattern.as_counts()
        counted = {key: result["labels"][name][key] for key in wanted}
        if counted != wanted:
            wrong[name] = (counted, wanted)
    assert not wrong, f"counted, and by arithmetic: {wrong}"
