# SPDX-License-Identifier: GPL-2.0
"""Times walks over the hot lines of many tasks, coloured and not, in user space on the real CPU:
tasks.c, on the layouts of layouts.py. No kernel tree is used.

`make bench GROUP=colouring` makes Documentation/results/colouring/bench.rst: what is timed, and
what misses in a model of this CPU's L1D and L2.
"""
from __future__ import annotations

import mmap
import os
import struct
import tempfile
from pathlib import Path
from typing import Any

from selftests.bench.measure import HERE as BENCHES
from selftests.bench.measure import BenchError, command, machine_words, page_of, samples
from selftests.colouring import layouts
from selftests.colouring.layouts import SLABS, Cache, Workload
from selftests.results.store import Table

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("tasks.c", "layouts.py")
MEASURES = ("frames", "stacks", "slab4288", "slab5952", "old8", "old16", "lock")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
LEAST = 0.97

# By cell and layout: median and quartiles
Cells = dict[str, dict[str, dict[str, float]]]


def geometry(where: Path = CACHES) -> tuple[Cache, Cache]:
    """Return this CPU's L1D and L2; raises BenchError."""
    found = {}
    names = ("level", "type", "number_of_sets", "ways_of_associativity")
    for index in where.glob("index*"):
        level, kind, sets, ways = ((index / name).read_text().strip() for name in names)
        if kind != "Instruction":
            found[level] = Cache(int(sets), int(ways))
    if not {"1", "2"} <= set(found) or not all(map(min, found.values())):
        raise BenchError(f"{where} does not say how L1D and L2 are made")
    return found["1"], found["2"]


def frames_readable() -> bool:
    """Say whether frame numbers can be read here, which only root can."""
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as table:
            # In CPython id() is an address
            table.seek(id(table) // mmap.PAGESIZE * 8)
            return bool(struct.unpack("<Q", table.read(8))[0] & (1 << 55) - 1)
    except OSError:
        return False


def workloads(colours: int, l1: Cache, l2: Cache) -> dict[str, Workload]:
    """Return what each measure walks over.

    colours: page colours that frames can be chosen by, 0 if they cannot.
    """
    made = {"frames": layouts.frames(colours)} if colours else {}
    made["stacks"] = layouts.stacks(colours)
    made |= {name: layouts.structs(slab, l1) for name, slab in SLABS.items()}
    made |= {"old8": layouts.old(8, l2), "old16": layouts.old(16, l2)}
    return made | {"lock": layouts.old(8, l2, layouts.LOCK_COUNTS, locked=True)}


def modelled(measure: str, work: Workload, l1: Cache, l2: Cache
             ) -> dict[str, dict[str, list[float]]]:
    """Return the shares of the loads that miss in percent, by MEASURE/CELL and layout.

    Of the cells that are published: L1D's share, and L2's where the frames are known.
    """
    result: dict[str, dict[str, list[float]]] = {}
    for cell in cells_of(0, 1 << 20, MODELLED[measure], work.cases):
        row = result.setdefault(f"{measure}/{cell}", {})
        for name, lines in work.cases[cell].items():
            if name != "uncoloured_again":
                shares = layouts.misses(lines, work.physical(lines), l1, l2)
                known = 1 if name in work.unknown else 2
                row[name] = [round(100 * share, 1) for share in shares[:known]]
    return result


def build(program: Path) -> None:
    """Build tasks.c."""
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{BENCHES}", "-o", program,
            HERE / "tasks.c")


def run(_tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own."""
    load = os.getloadavg()[0]
    l1, l2 = geometry()
    page_colours = l2.sets // layouts.PAGE
    chosen = page_colours if page_colours >= 4 and frames_readable() else 0
    timed: dict[str, Cells] = {}
    model: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "tasks"
        build(program)
        for measure, work in workloads(chosen, l1, l2).items():
            file = Path(directory) / measure
            work.write(file, chosen or 1)
            timed[measure] = samples(program, file, rounds, ("cell", "layout"))
            if measure in MODELLED:
                model |= modelled(measure, work, l1, l2)
    return {"load": load, "threads": min(4, len(os.sched_getaffinity(0))),
            "page colours chosen": chosen, "L1D": l1._asdict(), "L2": l2._asdict(),
            "cells": timed, "modelled": model}


def base(name: str) -> str:
    """Return the layout that a layout is compared with."""
    return "any" if name.startswith("any_") else "uncoloured"


def ratio(cases: dict[str, dict[str, float]], name: str) -> float:
    """Return how many times faster a layout is than what it is compared with."""
    after = cases[name]["median"]
    return cases[base(name)]["median"] / after if after else 1


def noise(cases: dict[str, dict[str, float]]) -> float:
    """Return by what share two turns of the same layout differ."""
    before = cases["uncoloured"]["median"]
    return abs(cases["uncoloured_again"]["median"] / before - 1) if before else 0


def cells_of(low: int, high: int, lines: tuple[int, ...], cells: dict[str, Any]) -> list[str]:
    """Return the cells of so many tasks and touched lines each."""
    sizes = {cell: [int(word) for word in cell.split("x")] for cell in cells}
    return [cell for cell, (n, touched) in sizes.items() if low <= n <= high and touched in lines]


def words(cases: Cells, name: str, cells: list[str]) -> str:
    """Return cells and their ratios as a list in words."""
    return ", ".join(f"{cell} ({ratio(cases[cell], name):.2f})" for cell in cells)


def somewhere(cases: Cells, name: str, least: float, cells: list[str]) -> str:
    """Return whether a layout is so many times faster at a cell, and where it is best."""
    best = max(cells, key=lambda cell: ratio(cases[cell], name))
    slowest, other = cases[best][name]["high"], cases[best][base(name)]["low"]
    holds = ratio(cases[best], name) >= least and other / slowest > 1
    return f"{'holds' if holds else 'does not hold'}: best at {words(cases, name, [best])}"


def everywhere(cases: Cells, name: str, least: float, cells: list[str]) -> str:
    """Return whether a layout is so many times faster at each cell, or where noise hides it."""
    lost = [cell for cell in cells if ratio(cases[cell], name) < least]
    clear = [cell for cell in lost if least - ratio(cases[cell], name) > noise(cases[cell])
             and cases[cell][base(name)]["high"] / cases[cell][name]["low"] < least]
    unclear = [cell for cell in lost if cell not in clear]
    text = "cannot be told" if unclear else "holds"
    if clear:
        text = f"does not hold at {words(cases, name, clear)}"
    if unclear:
        text += f"; below it, and within the noise: {words(cases, name, unclear)}"
    return text


def verdicts(result: dict[str, Any]) -> list[str]:
    """Return what was expected, with whether it holds in what was measured."""
    measures: dict[str, Cells] = result["measures"]
    # The layout of slabs that the arithmetic of sets has chosen is the first after these
    others = ("uncoloured", "uncoloured_again", "any")
    stacks, found = measures["stacks"], []
    coloured = {measure: [name for name in measures[measure]["8x1"] if name not in others][:most]
                for measure, most in (("stacks", None), *((slab, 1) for slab in SLABS))}
    for name in coloured["stacks"]:
        found.append(f"stacks, {name}, at least 1.5 times faster somewhere in 16..128 tasks, "
                     f"3 lines: {somewhere(stacks, name, 1.5, cells_of(16, 128, (3,), stacks))}")
    for slab in SLABS:
        cases, (name,) = measures[slab], coloured[slab]
        best = somewhere(cases, name, 1.3, cells_of(32, 64, (4, 8), cases))
        found.append(f"{slab}, {name}, at least 1.3 times faster somewhere in 32..64 tasks, "
                     f"4 to 8 lines: {best}")
    for measure, names in coloured.items():
        for name in names:
            all_cells = everywhere(measures[measure], name, LEAST, list(measures[measure]))
            found.append(f"{measure}, {name}, nowhere below {LEAST}, 8..4096 tasks, "
                         f"1 to 20 lines: {all_cells}")
    for measure in ("old8", "old16"):
        for name in ("4", "mod7", "mod31"):
            both = everywhere(measures[measure], name, 1.5, ["64x1", "4096x1"])
            found.append(f"{measure}, {name}, at least 1.5 times faster at 64 and at 4096 tasks: "
                         f"{both}")
    return [f"* {text}." for text in found]


HEADS = {
    "frames": "A line of each of many pages, all at one place: frames of one page colour "
              "(uncoloured), of all in turn",
    "stacks": "Tops of kernel stacks, lines touched of each: {}",
    "slab4288": "task_struct of 4288 bytes, 7 in a slab, hot lines of each: {}",
    "slab5952": "task_struct of 5952 bytes, 5 in a slab, hot lines of each: {}",
    "old8": "2.4's layout: a line at the bottom of 8 KiB for each task",
    "old16": "The same with 16 KiB for each task",
    "lock": "A walk over 2.4's layout, 8 KiB for each task, under one spinlock by {} threads on as "
            "many CPUs: cycles of the lock being held, mean and maximum, and acquisitions in "
            "percent that found it taken",
}
# Touched lines of which the model's table is published
MODELLED = {"stacks": (3, 20), "slab4288": (4, 8), "slab5952": (4, 8), "old8": (1,),
            "old16": (1,)}


def csv(title: str, *rows: list[str]) -> str:
    """Return an rst table; the first row is its head."""
    head, *lines = (", ".join(f'"{cell}"' for cell in row) for row in rows)
    return "\n".join([f".. csv-table:: {title}", f"   :header: {head}", "",
                      *(f"   {line}" for line in lines)]) + "\n"


def timed_tables(result: dict[str, Any], measure: str) -> list[str]:
    """Return the tables of what was timed: one for each number of touched lines."""
    cases: Cells = result["measures"][measure]

    def row(cell: str, names: list[str], touched: str) -> list[str]:
        found = cases[cell]
        return [cell.partition("x")[0] if touched else cell.replace("_", ", "), *(
            f"{found[name]['median']:.1f}" + (
                "" if name == base(name) or cell.endswith("_contended")
                else f" ({ratio(found, name):.2f})") for name in names),
                f"{100 * noise(found):.0f} %"]

    made = []
    many = [] if measure == "lock" else [cell.partition("x")[2] for cell in cases]
    for touched in dict.fromkeys(many) or [""]:
        cells = [cell for cell in cases if not touched or cell.endswith(f"x{touched}")]
        names = [name for name in cases[cells[0]] if name != "uncoloured_again"]
        title = HEADS[measure].format(touched or result["threads"])
        made.append(csv(title + ("; cycles for a load" if touched else ""),
                        ["tasks", *names, "noise"], *(row(cell, names, touched) for cell in cells)))
    return made


def modelled_tables(result: dict[str, Any], measure: str) -> list[str]:
    """Return the tables of what the model says misses."""
    cases = {cell.partition("/")[2]: case for cell, case in result["modelled"].items()
             if cell.startswith(f"{measure}/")}
    made = []
    for touched in MODELLED[measure]:
        cells = cells_of(0, 1 << 20, (touched,), cases)
        rows = [[cell.partition("x")[0], *(" / ".join(map(str, [*shares, "?"][:2]))
                                           for shares in cases[cell].values())] for cell in cells]
        title = (f"{HEADS[measure].format(touched)}; "
                 "loads in percent that miss L1D / L2 (modelled)")
        made.append(csv(title, ["tasks", *cases[cells[0]]], *rows))
    return made


def frames_say(result: dict[str, Any]) -> str:
    """Return what the choice of frames is worth on this machine."""
    if "frames" not in result["measures"]:
        return ("Frame numbers could not be read: frames are as they came in all layouts, page "
                "colours were not tried.")
    found = ratio(result["measures"]["frames"]["64x1"], "pages")
    worth = "decide on the sets of L2 here."
    if found < 1.3:
        worth = ("do not decide on the sets of L2 here. What rests on these (page colours, and the "
                 "model's L2, also of slabs and of 2.4's layout) is then not to be seen in what is "
                 "timed, where frames lie anywhere in L2.")
    return (f"Top pages of stacks have frames chosen by number, {result['page colours chosen']} "
            "page colours. In a guest these are the guest's: the host may have put them anywhere, "
            "unless it backs the guest with huge pages. 64 pages of one colour take "
            f"{found:.2f} times as long as 64 of all colours: frame numbers {worth}")


def slab_says(name: str, l1: Cache) -> str:
    """Return which colours the arithmetic of sets chooses for a slab, and what they cover."""
    colours, step, rule = SLABS[name].choice(l1)
    chosen, plain, uncoloured = (len(SLABS[name].covered(*way, l1)) for way in (
        (colours, step, rule), (colours, step, layouts.counter), (1, 0, layouts.counter)))
    counter = ("a plain counter" if rule is layouts.counter
               else "a counter whose each round begins one further")
    return (f"{name}: {colours}x{step} and {counter} are chosen, as the pairs of place in the slab "
            f"and colour then put one hot line into {chosen} of {l1.sets} sets of L1D, with a "
            f"plain counter {plain}, uncoloured {uncoloured}.")


ABOUT = """A walk over N tasks again and again, in one random order in all layouts, each load dependent on the one
before. In brackets: how many times faster than uncoloured (any_16x2: than any). In lists 64x3 is 64 tasks with 3
lines each. Noise: the difference between two turns of uncoloured. What lies within it, or within the middle halves of
the samples, is no verdict."""
ABOUT_STACKS = """Stacks are 16 KiB, 32 KiB apart as vmalloc() lays them, in pages of 4 KiB; touched are the topmost
lines, which hold pt_regs and the first frames. 16x2: 16 colours 2 lines apart, what auto takes, in turn or drawn at
random; 16x3 is more than an eighth of the stack and stands here for reference. Top pages of uncoloured, and of line
colours alone, are frames 3 modulo 4 at random, as on a freshly booted kernel; pages: frames of all colours in turn;
any: as they come."""
ABOUT_STRUCTS = """task_structs are in slabs of 32 KiB in huge pages, as in the direct map; hot lines are sparse ones
of task_struct, thread_struct's and the FPU state's: a choice, not a trace. padded: objects as far apart as the chosen
ones, without a colour."""
ABOUT_OLD = """2.4's layout: 4 is the original's number of colours, by the two address bits above L2's index, of lines
of 64 bytes instead of 32; mod7 and mod31 take the number of the area modulo 7 and 31."""
ABOUT_LOCK = """The original (2001, 4 threads) had the lock held for 40 us on average and 136 at most, coloured 20 and
129, and found it taken at 19.0 % of the acquisitions, coloured 9.5. Here are {} threads, one on each CPU: more would
be preempted in the lock. Between two acquisitions each works for 100 cycles for each task, on average, whatever the
layout."""
ABOUT_MODEL = """What misses, in a model: LRU, no prefetchers, the sets and ways of this CPU, no time. The original
measured that 96.9 % of the walk's accesses missed, coloured 17.9. ?: the frames are not known."""


def part(result: dict[str, Any]) -> str:
    """Return the part of the page that is made of a block."""
    l1, l2 = (Cache(**result[level]) for level in ("L1D", "L2"))
    return "\n".join([
        f"Timed in user space: {machine_words(result)}; L1D {l1.sets} sets of {l1.ways} ways, "
        f"L2 {l2.sets} of {l2.ways}; medians of {result['rounds']} rounds in which the layouts "
        f"take turns, the shortest of three; load average {result['load']:.1f} at the beginning; "
        f"``{result['command']}``, {result['date']}.", ABOUT, "",
        ABOUT_STACKS, frames_say(result), "",
        ABOUT_STRUCTS, *(slab_says(name, l1) for name in SLABS), "",
        ABOUT_OLD, "", *verdicts(result), "",
        *(text for measure in MEASURES if measure in result["measures"]
          for text in timed_tables(result, measure)),
        ABOUT_LOCK.format(result["threads"]), "", ABOUT_MODEL, "",
        *(text for measure in MODELLED for text in modelled_tables(result, measure))])


def page(table: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(table, part)
