# SPDX-License-Identifier: GPL-2.0
"""Where the hot cache lines of N tasks lie, coloured and not, and what of a walk over them misses.

All is counted in cache lines of 64 bytes from the beginning of the memory that tasks.c maps.
"""

import functools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

PAGE = 64
# 16 KiB, and as vmalloc() lays them: one more page as a guard, and the alignment
STACK = 4 * PAGE
STACK_DISTANCE = 2 * STACK
SLAB = 8 * PAGE
COUNTS = tuple(n for power in range(3, 13) for n in (1 << power, 3 << (power - 1)) if n <= 4096)
STACK_LINES = (1, 3, 12, 20)
TASK_LINES = (1, 4, 8, 20)
OLD_COUNTS = (16, 32, 64, 128, 256, 1024, 4096)
LOCK_COUNTS = (64, 256, 1024, 4096)
# A choice, not a trace: of 25 lines of the 52 of task_struct, 2 of thread_struct and 12 of the FPU
# state that a switch touches, 15 sparse ones, 2 and 3; the first 1, 4 and 8 are of all parts
TASK_HOT = (0, 20, 52, 54, 3, 29, 11, 41, 1, 5, 8, 15, 24, 33, 37, 46, 49, 53, 55, 56)

# From the number of a task, in the order of allocation, and the number of colours: its colour
Rule = Callable[[int, int], int]


class Cache(NamedTuple):
    """Number of sets and ways."""

    sets: int
    ways: int


@dataclass
class Workload:
    """What tasks.c reads: cells with their layouts, each a sequence of lines, and pages' frames."""

    huge: bool
    locked: bool = False
    cases: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    frames: dict[int, int] = field(default_factory=dict)
    # Layouts whose frames are not chosen and not huge: their sets in L2 are not known
    unknown: set[str] = field(default_factory=set)

    def add(self, cell: str, layout: str, tasks: list[list[int]]) -> None:
        """Add a layout to a cell: tasks, and lines of each, in one random order in all layouts."""
        draw = random.Random(cell)
        order = list(tasks)
        draw.shuffle(order)
        lines = self.cases.setdefault(cell, {})[layout] = []
        for task in order:
            own = list(task)
            draw.shuffle(own)
            lines += own

    def write(self, where: Path, colours: int) -> None:
        """Write it as tasks.c reads it. colours: frame numbers count modulo this."""
        cases = [(cell, name, lines) for cell, layouts in self.cases.items()
                 for name, lines in layouts.items()]
        pages = 1 + max(max(lines) for *_, lines in cases) // PAGE
        what = f"{'lock' if self.locked else 'walk'} {'huge' if self.huge else 'small'}"
        text = [f"{what} {pages} {colours}"]
        text += [f"frame {page} {colour}" for page, colour in self.frames.items()]
        text += [f"case {cell} {name} {' '.join(map(str, lines))}" for cell, name, lines in cases]
        where.write_text("\n".join(text) + "\n", encoding="utf-8")

    def physical(self, lines: Iterable[int]) -> list[int]:
        """Return lines as a physically indexed cache sees them, up to a multiple of all colours."""
        return [self.frames.get(line // PAGE, line // PAGE) * PAGE + line % PAGE for line in lines]


def counter(i: int, n: int) -> int:
    """Count. In step with every other one whose period has a divisor in common with n."""
    return i % n


def turning(i: int, n: int) -> int:
    """Count, and begin each round one further: in step with no other for n rounds."""
    return (i + i // n) % n


@functools.cache
def drawn(i: int, n: int) -> int:
    """Draw a colour, the same in each run."""
    return random.Random(i).randrange(n)


def sets(lines: Iterable[int], cache: Cache) -> Counter[int]:
    """Return how many lines fall into each set that is used."""
    return Counter(line % cache.sets for line in lines)


def misses(lines: Sequence[int], physical: Sequence[int], l1: Cache, l2: Cache
           ) -> tuple[float, float]:
    """Return the shares of loads that miss L1D and L2, LRU, of an endless walk over distinct lines.

    Exact: LRU keeps all lines of a set that has no more of them than ways, and none of one that has
    more, as each line comes back after all others. L2 sees what misses L1D and nothing else. lines:
    as L1D is indexed, physical: as L2.
    """
    used = sets(lines, l1)
    missed = [p for line, p in zip(lines, physical, strict=True) if used[line % l1.sets] > l1.ways]
    again = sets(missed, l2)
    both = sum(again[p % l2.sets] > l2.ways for p in missed)
    return len(missed) / len(lines), both / len(lines)


def stack(i: int, colour: int, touched: int, base: int = 0) -> list[int]:
    """Return the topmost lines of stack i, its top colour lines lower; base: of the first one."""
    top = base + i * STACK_DISTANCE + STACK - 1 - colour
    return [top - line for line in range(touched)]


# Colours, lines between two of them, rule; auto is 16x2
STACK_COLOURS: dict[str, tuple[int, int, Rule]] = {
    "uncoloured": (1, 0, counter), "uncoloured_again": (1, 0, counter), "16x2": (16, 2, counter),
    "11x3": (11, 3, counter), "16x3": (16, 3, counter), "16x2_drawn": (16, 2, drawn),
}


def stacks(colours: int, counts: Sequence[int] = COUNTS) -> Workload:
    """Return the tops of stacks.

    colours: page colours; the frames of the top pages are chosen, 3 modulo 4 at random as
    mainline's are; "pages" has all colours in turn, "any" frames as they come. 0: frames as they
    come in all layouts.
    """
    work = Workload(huge=False)
    most = max(counts)
    in_turn, as_they_come = (area * most * STACK_DISTANCE for area in (1, 2))
    layouts = {name: (0, *rule) for name, rule in STACK_COLOURS.items()}
    if colours:
        layouts |= {
            "pages": (in_turn, 1, 0, counter), "pages_16x2": (in_turn, 16, 2, turning),
            "any": (as_they_come, 1, 0, counter), "any_16x2": (as_they_come, 16, 2, counter)}
    work.unknown = {name for name, (base, *_) in layouts.items()
                    if base == as_they_come or not colours}
    for touched in STACK_LINES:
        for n in counts:
            for name, (base, many, step, rule) in layouts.items():
                tops = [stack(i, step * rule(i, many), touched, base) for i in range(n)]
                work.add(f"{n}x{touched}", name, tops)
    if colours:
        draw = random.Random("frames")
        each = most // (colours // 4)
        mainline = [frame for frame in range(3, colours, 4) for _ in range(each)]
        draw.shuffle(mainline)
        for i in range(most):
            top = (i * STACK_DISTANCE + STACK - 1) // PAGE
            work.frames[top] = mainline[i]
            work.frames[in_turn // PAGE + top] = i % colours
        # The page below the top one, which only the last colours of 16x3 reach
        reached = {line // PAGE for cell in work.cases.values() for line in cell["16x3"]}
        lower = sorted(reached - set(work.frames))
        work.frames |= {page: work.frames[page + 1] - 1 for page in lower}
    return work


def frames(colours: int) -> Workload:
    """Return one line of each of many pages: frames of one colour, and of all colours in turn.

    Shows whether frame numbers decide on the sets of L2, as they do not in a guest whose frames lie
    anywhere.
    """
    work = Workload(huge=False)
    for n in (16, 32, 64, 128):
        for name, base in (("uncoloured", 0), ("uncoloured_again", 0), ("pages", 128)):
            work.add(f"{n}x1", name, [[(base + i) * PAGE] for i in range(n)])
    work.frames = {i: 3 for i in range(128)} | {128 + i: i % colours for i in range(128)}
    return work


@dataclass(frozen=True)
class Slab:
    """Today's slabs of task_struct: lines of an object, and objects in 32 KiB."""

    size: int
    objects: int

    @property
    def spare(self) -> int:
        """Lines by which each object can grow while as many fit."""
        return SLAB // self.objects - self.size

    def starts(self, n: int, colours: int, step: int, rule: Rule) -> list[int]:
        """Return the first line of each of n tasks; objects grow by what their colours need."""
        size = self.size + (colours - 1) * step
        return [i // self.objects * SLAB + i % self.objects * size + step * rule(i, colours)
                for i in range(n)]

    def covered(self, colours: int, step: int, rule: Rule, cache: Cache) -> Counter[int]:
        """Return how often first lines fall into each set, until positions and colours repeat."""
        return sets(self.starts(self.objects * colours * colours, colours, step, rule), cache)

    def choice(self, cache: Cache) -> tuple[int, int, Rule]:
        """Return colours, step and rule for the most sets, most evenly, within the spare lines."""
        def evenness(way: tuple[int, int, Rule]) -> tuple[float, ...]:
            colours, step, rule = way
            used = self.covered(*way, cache)
            return (len(used), -max(used.values()) / used.total(), colours, -step, rule is counter)
        room = range(1, self.spare + 2)
        return max(((colours, step, rule) for colours in room for step in room
                    for rule in (counter, turning) if (colours - 1) * step <= self.spare),
                   key=evenness)


# With the FPU state of AVX, 4288 bytes, and of AVX-512, 5952 bytes
SLABS = {"slab4288": Slab(67, 7), "slab5952": Slab(93, 5)}


def structs(slab: Slab, l1: Cache, counts: Sequence[int] = COUNTS) -> Workload:
    """Return task_structs in slabs: mainline's layout, its turn again, the chosen one, others.

    "padded" has the objects of the chosen layout without their colours: the other distance alone.
    """
    work = Workload(huge=True)
    colours, step, rule = slab.choice(l1)
    chosen = f"{colours}x{step}"
    wide = slab.spare // 2 + 1
    plain = Slab(slab.size + (colours - 1) * step, slab.objects)
    layouts: dict[str, tuple[Slab, int, int, Rule]] = {
        "uncoloured": (slab, 1, 0, counter), "uncoloured_again": (slab, 1, 0, counter),
        chosen: (slab, colours, step, rule), f"{chosen}_counter": (slab, colours, step, counter),
        f"{chosen}_drawn": (slab, colours, step, drawn), f"{wide}x2": (slab, wide, 2, turning),
        "padded": (plain, 1, 0, counter),
    }
    for hot in TASK_LINES:
        for n in counts:
            for name, (of, many, apart, way) in layouts.items():
                starts = of.starts(n, many, apart, way)
                tasks = [[start + line for line in TASK_HOT[:hot]] for start in starts]
                work.add(f"{n}x{hot}", name, tasks)
    return work


def old(kib: int, l2: Cache, counts: Sequence[int] = OLD_COUNTS, locked: bool = False) -> Workload:
    """Return the layout of 2.4: one line at the bottom of each task's area of so many KiB.

    4: colours from the two address bits above the index of L2, as the original's; mod7, mod31: the
    area's number modulo that.
    """
    area = kib * 16
    work = Workload(huge=True, locked=locked)
    ways: dict[str, Callable[[int], int]] = {
        "uncoloured": lambda i: 0, "uncoloured_again": lambda i: 0,
        "4": lambda i: i * area // l2.sets % 4, "mod7": lambda i: i % 7, "mod31": lambda i: i % 31,
    }
    for n in counts:
        for name, way in ways.items():
            cell = str(n) if locked else f"{n}x1"
            work.add(cell, name, [[i * area + way(i)] for i in range(n)])
    return work
