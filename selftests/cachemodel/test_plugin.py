# SPDX-License-Identifier: GPL-2.0
"""The caches without QEMU (plugin/tracer.c) against a second, plain model."""
from __future__ import annotations

import random
import subprocess
from collections import OrderedDict
from pathlib import Path

import pytest

Trace = list[tuple[int, str, int]]


def traced(built: Path, geometry: list[str], trace: Trace, cpus: int = 1,
           policy: str = "lru", nt: str = "evict") -> list[tuple[int, int]]:
    """Return for each access (levels missed, lines written to memory)."""
    done = subprocess.run(
        [str(built / "tracer"), str(cpus), *geometry, policy, nt],
        input="".join(f"{cpu} {op} {line}\n" for cpu, op, line in trace),
        capture_output=True, text=True, check=True)
    return [(int(missed), int(written)) for missed, written in
            (line.split() for line in done.stdout.splitlines())]


def random_trace(seed: int, length: int, lines: int, ops: str, cpus: int = 1) -> Trace:
    """Return accesses, half of them to the eighth that is used most."""
    chance = random.Random(seed)
    return [(chance.randrange(cpus), chance.choice(ops),
             chance.randrange(lines if chance.random() < .5 else lines // 8))
            for _ in range(length)]


class Plain:
    """One cache: an ordered dictionary of line to dirty for each set."""

    def __init__(self, geometry: str) -> None:
        size, self.ways = map(int, geometry.split(":"))
        self.sets = [OrderedDict() for _ in range(size // 64 // self.ways)]

    def set_of(self, line: int) -> OrderedDict[int, bool]:
        """Return the set that a line belongs to."""
        return self.sets[line % len(self.sets)]

    def insert(self, line: int, dirty: bool) -> tuple[int, bool] | None:
        """Put a line in; return the one that had to go."""
        entries = self.set_of(line)
        gone = entries.popitem(last=False) if len(entries) == self.ways else None
        entries[line] = dirty
        return gone


class PlainMachine:
    """One CPU with three caches, as hierarchy.h describes them."""

    def __init__(self, geometry: list[str]) -> None:
        self.caches = [Plain(text) for text in geometry]
        self.written = 0

    def give_down(self, level: int, line: int) -> None:
        """A dirty line leaves a level for the next one, or for memory."""
        if level == 3:
            self.written += 1
            return
        entries = self.caches[level].set_of(line)
        if line in entries:
            entries[line] = True
        else:
            self.put(level, line, True)

    def put(self, level: int, line: int, dirty: bool) -> None:
        """Put a line into a level."""
        gone = self.caches[level].insert(line, dirty)
        if gone and gone[1]:
            self.give_down(level + 1, gone[0])

    def access(self, op: str, line: int) -> tuple[int, int]:
        """Return (levels missed, lines written to memory)."""
        self.written = 0
        if op == "n":
            dirty = [cache.set_of(line).pop(line, False) for cache in self.caches]
            return 0, int(any(dirty))
        missed = 0
        while missed < 3 and line not in self.caches[missed].set_of(line):
            missed += 1
        if missed < 3:
            entries = self.caches[missed].set_of(line)
            entries.move_to_end(line)
            if not missed:
                entries[line] |= op == "w"
        for level in reversed(range(missed)):
            self.put(level, line, level == 0 and op == "w")
        return missed, self.written


SMALL = ["1024:2", "4096:4", "16384:8"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ops", ["r", "rw", "rrwn"])
def test_plain_model(built: Path, seed: int, ops: str) -> None:
    """Random accesses miss where the plain model says, and write as often."""
    trace = random_trace(seed, 20000, 1000, ops)
    plain = PlainMachine(SMALL)
    assert traced(built, SMALL, trace) == [plain.access(op, line) for _, op, line in trace]


@pytest.mark.parametrize("policy", ["lru", "fifo"])
@pytest.mark.parametrize("cpus", [1, 3])
def test_full_is_one_set(built: Path, policy: str, cpus: int) -> None:
    """Fully associative (a list) is the same as one set of all ways (an array)."""
    trace = random_trace(7, 30000, 800, "rrwwn", cpus)
    one_set = ["1024:16", "4096:64", "16384:256"]
    full = ["1024:0", "4096:0", "16384:0"]
    assert traced(built, one_set, trace, cpus, policy) == \
        traced(built, full, trace, cpus, policy)


def test_fifo_differs(built: Path) -> None:
    """FIFO forgets a line that is used all the time; LRU keeps it."""
    trace = [(0, "r", line) for new in range(16, 1600, 16) for line in (0, new)]
    geometry = ["1024:2", "4096:64", "16384:256"]
    lru, fifo = (traced(built, geometry, trace, policy=policy)[2::2]
                 for policy in ("lru", "fifo"))
    assert not any(missed for missed, _ in lru)
    assert any(missed for missed, _ in fifo)


def test_sharing_rules(built: Path) -> None:
    """Reads share; a write takes the line from all others; what was written
    reaches memory once."""
    trace = [(0, "w", 5), (1, "r", 5), (0, "r", 5), (1, "w", 5), (0, "r", 5),
             (2, "n", 5), (0, "r", 5)]
    assert traced(built, SMALL, trace, cpus=3) == [
        (3, 0), (2, 0), (0, 0), (0, 0), (2, 0), (0, 1), (3, 0)]
