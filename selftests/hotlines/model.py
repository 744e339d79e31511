# SPDX-License-Identifier: GPL-2.0
"""The table of what a context switch touches, with the group's patches and before them: lines of a
task's structures, which fields of its task_struct, and misses in rings of 4 to 256 tasks.

`make model-tables GROUP=hotlines` makes Documentation/results/hotlines/model.rst on the kernel
"off", of base.config with all options off. before/model.json beside it has the same runs and
configuration of the series without the groups hotlines and colouring.
"""
from __future__ import annotations

import functools
import statistics
from typing import Any

from tools.model import tables
from tools.model.published import Published, literal, result_of, spread, wrapped
from tools.model.result import misses
from tools.figures import store
from tools.figures.store import Table

KINDS = ("pipe", "futex", "threads")
TASKS = (4, 8, 12, 16, 32, 64, 128, 256)
# Of the rings whose tasks take turns on two CPUs
CROSSING = (2, 4, 8, 16, 32)
# Whether the entry code moves the stack by a random number of bytes
RANDOM = {"fixed": "randomize_kstack_offset=off", "random": "randomize_kstack_offset=on"}
# Of the rings: each lays memory out in another way
BOOTS = range(5)
LINE = 64
SHARE = 0.5     # of the tasks, from which on a field counts as touched


def runs() -> dict[str, list[str]]:
    """Return the runs by name: the options of model run."""
    lines = {f"{kind}-{name}": ["ring", "--fields", f"--set=kind={kind}", f"--append={word}"]
             for kind in KINDS for name, word in RANDOM.items()}
    rings = {f"rings-{name}-{boot}": ["rings", "--set", f"kinds={':'.join(KINDS)}",
                                      f"tasks={':'.join(map(str, TASKS))}", f"perturb={boot}",
                                      f"--append={word}"]
             for name, word in RANDOM.items() for boot in BOOTS}
    crossing = {f"crossing-{boot}": ["crossing", "--set", f"kinds={':'.join(KINDS)}",
                                     f"tasks={':'.join(map(str, CROSSING))}", f"perturb={boot}",
                                     f"--append={RANDOM['fixed']}"] for boot in BOOTS}
    leader = {f"leader-{boot}": ["leader", "--set", f"perturb={boot}"] for boot in BOOTS}
    return lines | rings | crossing | leader


def kept(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the page needs of a boot: misses per switch, on two CPUs those of L2, in all and
    of task_structs, and of one ring lines by kind of object and fields."""
    counted = {ring: label for ring, label in result["labels"].items() if label["units"]}
    if name.startswith("rings-"):
        return {ring: {level: round(misses(label, level) / label["units"], 2)
                       for level in ("l1d", "l2")}
                for ring, label in counted.items()}
    if name.startswith(("crossing-", "leader-")):
        return {ring: {"all": round(misses(label, "l2") / label["units"], 2),
                       "task_struct": round(
                           label["kinds"]["task_struct"]["l2"] / label["units"], 2)}
                for ring, label in counted.items()}
    label = result["labels"]["ring"]
    lines = {kind: sum(of["touched"]) / of["objects"] for kind, of in label["objects"].items()}
    lines["kernel stack"] = (label["kinds"]["kernel stack"]["lines"]
                             / label["objects"]["task_struct"]["objects"])
    return {"ring": {"lines": {kind: round(count, 2) for kind, count in lines.items()},
                     "fields": label["fields"]}}


@functools.cache
def before() -> Table:
    """Return what was counted without the group: series, command, cells. Raises OSError."""
    return store.load(store.PUBLISHED / "hotlines/before/model.json")


def line_table(table: Table) -> str:
    """Return the lines of each kind of object that a task touches, before and after."""
    both = (before()["cells"], table["cells"])
    names = [f"{kind}-{name}" for kind in KINDS for name in RANDOM]
    rows = [["lines of a", *names]]
    for kind in sorted(both[1][f"{names[0]}/ring"]["lines"]):
        rows.append([kind, *(" -> ".join(
            f"{cells[f'{name}/ring']['lines'].get(kind, 0):.1f}" for cells in both)
            for name in names)])
    return tables.columns(rows)


def rings(cells: Table, name: str, ring: str, level: str) -> list[float]:
    """Return the misses per switch of a ring's boots. ring: KIND_TASKS."""
    return [float(cells[f"rings-{name}-{boot}/{ring}"][level]) for boot in BOOTS]


def moved(cells: Table, ring: str, what: str) -> list[float]:
    """Return the lines per switch that move to a CPU from the other one, of a ring's boots. what:
    all or task_struct."""
    return [float(cells[f"crossing-{boot}/{ring}"][what]) for boot in BOOTS]


def ratio(table: Table, name: str, ring: str, level: str) -> float:
    """Return the median of a ring's misses as a part of what it was before."""
    return statistics.median(rings(table["cells"], name, ring, level)) / max(
        statistics.median(rings(before()["cells"], name, ring, level)), 0.01)


def slower(table: Table) -> list[str]:
    """Return the cells with more misses than before in each boot: level, offset, ring."""
    return [f"{level} {name} {kind}_{tasks}" for level in ("l1d", "l2") for name in RANDOM
            for kind in KINDS for tasks in TASKS
            if min(rings(table["cells"], name, ring := f"{kind}_{tasks}", level))
            > max(rings(before()["cells"], name, ring, level))]


def miss_table(table: Table, level: str) -> str:
    """Return the misses per switch by kind and number of tasks, before and after."""
    rows = [["tasks", *(f"{kind}-{name}" for kind in KINDS for name in RANDOM)]]
    for tasks in TASKS:
        rows.append([str(tasks), *(" -> ".join(
            f"{statistics.median(rings(cells, name, f'{kind}_{tasks}', level)):.1f}"
            for cells in (before()["cells"], table["cells"]))
            for kind in KINDS for name in RANDOM)])
    return tables.columns(rows)


def spread_table(table: Table, level: str) -> str:
    """Return the misses per switch with their spread over the boots."""
    rows = [["tasks", *(f"{kind}-{name}" for kind in KINDS for name in RANDOM)]]
    for tasks in TASKS:
        rows.append([str(tasks), *(spread(rings(table["cells"], name, f"{kind}_{tasks}", level))
                                   for kind in KINDS for name in RANDOM)])
    return tables.columns(rows)


def moved_table(table: Table) -> str:
    """Return the lines per switch that move between two CPUs, before and after."""
    rows = [["tasks", *(f"{kind}, {what}" for kind in KINDS for what in ("all", "task_struct"))]]
    for tasks in CROSSING:
        rows.append([str(tasks), *(" -> ".join(
            f"{statistics.median(moved(cells, f'{kind}_{tasks}', what)):.2f}"
            for cells in (before()["cells"], table["cells"]))
            for kind in KINDS for what in ("all", "task_struct"))])
    return tables.columns(rows)


def leader(cells: dict[str, Any]) -> list[float]:
    """Return the lines of task_structs that move between CPUs per round of the busy leader,
    by boot."""
    return [float(cells[f"leader-{boot}/leader"]["task_struct"]) for boot in BOOTS]


def leader_table(table: Table) -> str:
    """Return the lines that move per round of the busy leader, without the patches and with them.
    """
    rows = [["lines of task_structs per round", "median (least..most)"],
            ["without the patches", spread(leader(before()["cells"]))],
            ["with them", spread(leader(table["cells"]))]]
    return tables.columns(rows)


def touched(table: Table, kind: str) -> set[int]:
    """Return the lines of a task_struct on which fields lie that half of a ring's tasks touch,
    without those of the FPU's state behind it."""
    fields = table["cells"][f"{kind}-fixed/ring"]["fields"]
    return {offset // LINE for name, offset, _, loaded, stored in fields
            if max(loaded, stored) >= SHARE and not name.startswith("(")}


def field_table(table: Table) -> str:
    """Return the fields of a task_struct that half of the tasks of a ring touch: loaded, stored."""
    marks: dict[tuple[int, str], dict[str, str]] = {}
    for kind in KINDS:
        for name, offset, _, loaded, stored in table["cells"][f"{kind}-fixed/ring"]["fields"]:
            mark = "l" * (loaded >= SHARE) + "s" * (stored >= SHARE)
            if mark:
                marks.setdefault((offset, name), {})[kind] = mark
    rows = [["line", "offset", *KINDS, "field"]]
    for (offset, name), found in sorted(marks.items()):
        rows.append([str(offset // LINE), str(offset),
                     *(found.get(kind, "") for kind in KINDS), name])
    return tables.columns(rows, left=5)


ABOUT = ("Rings of 64 tasks on one CPU, one boot each; a task's lines that are touched in 50 "
         "rounds, mean of all tasks, without the group's patches -> with them. fixed, random: "
         "randomize_kstack_offset=off, on. Behind the task_struct is the FPU's state, which QEMU "
         "saves whole and a CPU with XSAVES in part.")
ABOUT_MISSES = ("{} misses per context switch, without the group's patches -> with them: median of "
                "{} boots, each with memory laid out in another way.")
ABOUT_MOVED = ("Rings whose tasks take turns on two CPUs, so that each pass wakes a task of the "
               "other one: L2 misses per context switch, of which there are two for a pass. They "
               "are lines that the other CPU had: median of {} boots, without the group's patches "
               "-> with them, of all data and of task_structs.")
ABOUT_LEADER = ("A process whose leader sleeps and wakes on one CPU while three threads fault a "
                "page each on others, and membarrier() on a fifth: lines of task_structs that "
                "move between CPUs for each round of all, {} boots.")
ABOUT_FIELDS = ("Fields of a task_struct that half of the tasks touch and more, stack offset "
                "fixed: l loaded, s stored. What is within four bytes counts together.")


def page(table: Table) -> str:
    """Return the page, without its head."""
    head = tables.headline(result_of(table, f"{KINDS[0]}-fixed")).split("\n", 1)[1]
    parts = [literal(f"{wrapped(ABOUT)}\n{head}\nbefore: series {before()['series']}"),
             literal(line_table(table))]
    for level in ("l1d", "l2"):
        parts += [wrapped(ABOUT_MISSES.format(tables.HEADS[level], len(BOOTS))) + "\n",
                  literal(miss_table(table, level)), "With the patches, median (least..most):\n",
                  literal(spread_table(table, level))]
    parts += [wrapped(ABOUT_MOVED.format(len(BOOTS))) + "\n", literal(moved_table(table)),
              wrapped(ABOUT_LEADER.format(len(BOOTS))) + "\n",
              literal(leader_table(table))]
    return "\n".join([*parts, wrapped(ABOUT_FIELDS) + "\n", literal(field_table(table)),
                      literal(wrapped(tables.LIMITS))])


PUBLISHED = Published("hotlines", runs(), kept, ("RANDOMIZE_KSTACK_OFFSET",),
                      ("small", "base", "all-off"), "off")
