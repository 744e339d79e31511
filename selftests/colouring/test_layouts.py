# SPDX-License-Identifier: GPL-2.0
"""Layouts lie in the cache sets that they claim, the model of a walk is right, tasks.c runs."""

import json
import random
import subprocess
from collections import OrderedDict
from pathlib import Path

import pytest

from selftests.bench.measure import BenchError, command
from selftests.colouring import bench, layouts
from selftests.colouring.layouts import (
    PAGE, SLAB, SLABS, TASK_HOT, Cache, Slab, counter, misses, sets, turning)

pytestmark = pytest.mark.static

L1, L2 = Cache(64, 8), Cache(1024, 8)
COUNTS = (8, 64)


def lru(accesses: list[int], cache: Cache) -> list[bool]:
    """Say of each access whether it misses, line by line."""
    held: dict[int, OrderedDict[int, None]] = {}
    missed = []
    for line in accesses:
        way = held.setdefault(line % cache.sets, OrderedDict())
        missed.append(line not in way)
        way[line] = None
        way.move_to_end(line)
        if len(way) > cache.ways:
            way.popitem(last=False)
    return missed


def simulated(lines: list[int], physical: list[int], l1: Cache, l2: Cache) -> tuple[float, float]:
    """Return the shares that miss in the fourth of four walks, by simulation."""
    first = lru(lines * 4, l1)
    to_l2 = [i for i, miss in enumerate(first) if miss]
    second = lru([(physical * 4)[i] for i in to_l2], l2)
    last = 3 * len(lines)
    l2_misses = sum(miss for i, miss in zip(to_l2, second, strict=True) if i >= last)
    return sum(first[last:]) / len(lines), l2_misses / len(lines)


def test_misses_by_hand() -> None:
    """A set with as many lines as ways keeps them, with one more none; L2 sees L1D's misses."""
    l1, l2 = Cache(4, 2), Cache(8, 2)
    for lines, shares in (([0, 4], (0, 0)), ([0, 4, 8], (1, 0)), ([0, 4, 8, 1], (0.75, 0)),
                          ([0, 8, 16], (1, 1))):
        assert misses(lines, lines, l1, l2) == shares
    # Three lines of one set of L2, of which one is kept by L1D
    assert misses([0, 4, 8, 1], [0, 8, 4, 16], l1, l2) == (0.75, 0)


def test_misses_as_simulated() -> None:
    """The arithmetic agrees with a cache that is followed line by line."""
    draw = random.Random(1)
    for _ in range(60):
        lines = draw.sample(range(400), draw.randrange(1, 120))
        physical = [line % 16 + 16 * draw.randrange(0, 99) * 1000 + 16 * line for line in lines]
        l1, l2 = Cache(16, draw.choice((1, 2, 4))), Cache(64, draw.choice((1, 2, 4)))
        assert misses(lines, physical, l1, l2) == pytest.approx(simulated(lines, physical, l1, l2))


def test_stack_tops() -> None:
    """Uncoloured tops share three sets; colours spread them, within an eighth of the stack."""
    work = layouts.stacks(16, COUNTS)
    cell = work.cases["64x3"]
    assert sets(cell["uncoloured"], L1) == {61: 64, 62: 64, 63: 64}
    assert sorted(cell["uncoloured"])[:3] == [253, 254, 255], "pt_regs is at 0x3f58"
    used = sets(cell["16x2"], L1)
    assert used.keys() == set(range(31, 64)) and max(used.values()) == 8
    for name, bytes_at_most in (("16x2", 2048), ("11x3", 2048), ("16x3", 2880)):
        moved = 255 - min(line % layouts.STACK_DISTANCE for line in work.cases["64x1"][name])
        assert moved * 64 <= bytes_at_most, name


def test_frames_of_stacks() -> None:
    """Mainline's top pages are 3 modulo 4, the others of all colours in turn; 0: none."""
    work = layouts.stacks(16, (256,))
    colours = {name: [line // PAGE % 16 for line in work.physical(work.cases["256x1"][name])]
               for name in ("uncoloured", "pages", "pages_16x2")}
    assert {name: {colour: of.count(colour) for colour in of} for name, of in colours.items()} == {
        "uncoloured": dict.fromkeys((3, 7, 11, 15), 64), "pages": dict.fromkeys(range(16), 16),
        "pages_16x2": dict.fromkeys(range(16), 16)}
    both = work.physical(work.cases["256x1"]["pages_16x2"])
    assert len(sets(both, L2)) == 256, "line and page colours are in step"
    assert not layouts.stacks(0, COUNTS).frames


@pytest.mark.parametrize(("slab", "size", "step", "used"), [
    ("slab4288", 67, 7, 49), ("slab5952", 93, 10, 50)])
def test_slabs(slab: str, size: int, step: int, used: int) -> None:
    """The choice is the best by brute force; coloured objects do not overlap or leave a slab."""
    of = SLABS[slab]
    assert of.size == size and (of.spare + 1) == step, "colours of one line that cost no memory"
    colours, distance, rule = of.choice(L1)
    assert (colours, distance, rule) == (step, 1, turning)
    covered = of.covered(colours, distance, rule, L1)
    assert len(covered) == used and len(set(covered.values())) == 1, "evenly"
    assert len(of.covered(colours, distance, counter, L1)) == step
    every = [len(of.covered(n, apart, way, L1)) for n in range(1, 20) for apart in range(1, 20)
             for way in (counter, turning) if (n - 1) * apart <= of.spare]
    assert max(every) == used
    starts = sorted(of.starts(1000, colours, distance, rule))
    assert all(b - a >= size for a, b in zip(starts, starts[1:], strict=False))
    assert all(start % SLAB + size <= SLAB for start in starts)


def test_hot_lines() -> None:
    """They are as many as asked for, in the object, in all layouts of a cell, and none twice."""
    assert len(set(TASK_HOT)) == len(TASK_HOT) == max(layouts.TASK_LINES) and max(TASK_HOT) < 67
    works = [layouts.stacks(16, COUNTS), layouts.frames(16),
             layouts.old(8, L2, (64,)), layouts.old(16, L2, (64,)),
             *(layouts.structs(slab, L1, COUNTS) for slab in SLABS.values())]
    for work in works:
        for cell, cases in work.cases.items():
            n, touched = map(int, cell.split("x"))
            for lines in cases.values():
                assert len(set(lines)) == len(lines) == n * touched


def test_old() -> None:
    """One set of L1D uncoloured, four with the original's colours, as many as a modulus."""
    cases = layouts.old(8, L2, (4096,)).cases["4096x1"]
    used = {name: sets(lines, L1) for name, lines in cases.items()}
    assert {name: len(of) for name, of in used.items()} == {
        "uncoloured": 1, "uncoloured_again": 1, "4": 4, "mod7": 7, "mod31": 31}
    assert set(used["4"].values()) == {1024}
    assert max(used["mod31"].values()) - min(used["mod31"].values()) <= 1


def test_full_slab() -> None:
    """No spare line, no colour."""
    colours, step, rule = Slab(64, 8).choice(L1)
    assert (colours, rule) == (1, counter)
    assert Slab(64, 8).starts(9, colours, step, rule)[7:] == [448, 512]


def test_verdicts_are_of_the_figures() -> None:
    """A verdict changes with the figures, names what loses, and says when the noise hides it."""
    def cell(before: float, again: float, after: float) -> dict[str, dict[str, float]]:
        return {name: dict.fromkeys(("median", "low", "high"), value) for name, value in (
            ("uncoloured", before), ("uncoloured_again", again), ("a", after))}
    cases = {"8x1": cell(10, 10, 5), "16x1": cell(10, 10, 11), "32x1": cell(10, 12, 11)}
    assert bench.somewhere(cases, "a", 1.5, ["8x1", "16x1"]) == "holds: best at 8x1 (2.00)"
    assert bench.somewhere(cases, "a", 2.5, ["8x1", "16x1"]).startswith("does not hold")
    assert bench.everywhere(cases, "a", 0.97, ["8x1"]) == "holds"
    assert bench.everywhere(cases, "a", 0.97, ["8x1", "16x1"]) == "does not hold at 16x1 (0.91)"
    unclear = bench.everywhere(cases, "a", 0.97, ["8x1", "32x1"])
    assert unclear.startswith("cannot be told; below it")


def test_geometry(tmp_path: Path) -> None:
    """L1D and L2 are found, the instruction cache is not taken for one; none is an error."""
    names = ("level", "type", "number_of_sets", "ways_of_associativity")
    caches = ((1, "Data", 64, 12), (1, "Instruction", 64, 8), (2, "Unified", 2048, 16))
    for i, cache in enumerate(caches):
        where = tmp_path / f"index{i}"
        where.mkdir()
        for name, value in zip(names, cache, strict=True):
            (where / name).write_text(f"{value}\n")
    assert bench.geometry(tmp_path) == (Cache(64, 12), Cache(2048, 16))
    with pytest.raises(BenchError):
        bench.geometry(tmp_path / "index0")


@pytest.fixture(scope="module", name="program")
def fixture_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tasks.c, built."""
    program = tmp_path_factory.mktemp("bench") / "tasks"
    bench.build(program)
    return program


def test_program_refuses(program: Path, tmp_path: Path) -> None:
    """Bad arguments and files: one line on stderr, status 2."""
    good = "walk small 2 1\ncase 1x1 a 0 64\n"
    bad = [*(f"{head}\n" for head in (
        "run small 2 1", "walk large 2 1", "walk small 0 1", "walk small 2 0", "walk small 2",
        "walk small 2 1", "walk huge 2 1\nframe 0 0")), "", *(f"{good}{line}\n" for line in (
            "case 1x1 b", "case 1x1 b 128", "case 1x1 b -1", "case 1x1 b 1 x", "frame 2 0",
            "frame 0 1", "cases 1x1 b 0", ""))]
    file = tmp_path / "file"
    calls: list[list[str | Path]] = [[], [file], *([file, n] for n in ("0", "-1", "1x", "")),
                                     [file, "1", "1"], [tmp_path / "no", "1"]]
    for text, words in [(good, words) for words in calls] + [(text, [file, "1"]) for text in bad]:
        file.write_text(text)
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
        printed = (done.returncode, len(done.stderr.splitlines()), done.stdout)
        assert printed == (2, 1, ""), (text, words)


def test_program_runs(program: Path, tmp_path: Path) -> None:
    """A line for each case and round, another case first in the next round; the lock has three."""
    def rows(text: str, rounds: int) -> list[dict]:
        (tmp_path / "file").write_text(text)
        printed = command(program, tmp_path / "file", str(rounds))
        return [json.loads(line) for line in printed.splitlines()]

    found = rows("walk small 2 1\ncase 2x1 a 0 64\ncase 2x1 b 0 1\ncase 1x1 a 0\n", 2)
    assert [(row["cell"], row["layout"]) for row in found] == [
        ("2x1", "a"), ("2x1", "b"), ("1x1", "a"), ("2x1", "b"), ("2x1", "a"), ("1x1", "a")]
    assert all(row["cycles"] > 0 for row in found)
    lock = {row["cell"]: row["cycles"] for row in rows("lock huge 2 1\ncase 2 a 0 64\n", 1)}
    assert lock.keys() == {"2_mean", "2_max", "2_contended"}
    assert 0 < lock["2_mean"] <= lock["2_max"] and 0 <= lock["2_contended"] <= 100


def test_walk_of_2001() -> None:
    """The original's walk misses L2 as it measured: 96.9 % of the reads, 17.9 % with colours.

    A line of 32 bytes at the bottom of each area of 8 KiB, areas anywhere in 512 MiB; Pentium III
    Xeon; four colours by the address bits 18 and 19. The number of areas is chosen to fit.
    """
    l1, l2, line, area = Cache(128, 4), Cache(8192, 4), 32, 8192
    shares: dict[int, list[float]] = {1: [], 4: []}
    for seed in range(50):
        places = random.Random(seed).sample(range((512 << 20) // area), 272)
        for colours, found in shares.items():
            walk = [place * area // line + (place * area >> 18) % colours for place in places]
            found.append(100 * misses(walk, walk, l1, l2)[1])
    plain, coloured = (sum(found) / len(found) for found in shares.values())
    assert abs(plain - 96.9) < 1 and abs(coloured - 17.9) < 2
