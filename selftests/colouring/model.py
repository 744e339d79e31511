# SPDX-License-Identifier: GPL-2.0
"""The tables of colouring: misses per context switch in rings of tasks, with each kind of colours
and without.

`make model-tables GROUP=colouring` makes Documentation/results/colouring/model.rst. A run is a boot
with one choice of colours and one perturbed layout of memory; it goes through all rings.
"""
from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass
from typing import Any

from selftests.model import tables
from selftests.model.published import Published, literal, mean_spread, result_of, wrapped
from selftests.model.result import misses
from selftests.model.workloads import WORKLOADS
from selftests.results.store import Table

PERTURB = (0, 3, 10, 31, 100)
CHURN = 32
KINDS = ("pipe", "futex", "threads")
TASKS = tuple(map(int, WORKLOADS["rings"].words["tasks"].split(":")))

# CPUID says what the modelled caches are, as far as QEMU can set it: 64 sets of L1D (by default it
# is AMD's with 512), and for L2 64 page colours, a multiple of what each modelled one has. Without
# XSAVES, which QEMU has not, the state of protection keys is behind the place of AVX-512's: it
# would take the room of the colours.
CPUID = "vendor=GenuineIntel,family=6,model=143,stepping=8"
APPEND = ("clearcpuid=pku",)

# Name in the tables: kernel parameters, short-lived tasks
CHOICES: dict[str, tuple[tuple[str, ...], int]] = {
    "off": ((), 0),
    "struct": (("task_struct_colours=auto",), 0),
    "stack lines": (("kstack_colours=16",), 0),
    "stack pages": (("kstack_colours=page",), 0),
    "all": (("task_struct_colours=auto", "kstack_colours=auto"), 0),
    "off, churn": ((), CHURN),
    "all, churn": (("task_struct_colours=auto", "kstack_colours=auto"), CHURN),
}
STEADY = tuple(choice for choice, (_, churn) in CHOICES.items() if not churn)
CHURNED = tuple(choice for choice, (_, churn) in CHOICES.items() if churn)


@dataclass(frozen=True)
class Cache:
    """A modelled cache. own: the level of the machine that it is, or further:
    the further cache; bound: the further cache of its size without sets."""

    name: str
    own: str
    further: str
    bound: str


CACHES = (
    Cache("L1D 48K:12", "l1d", "", "l1d:48K:full"),
    Cache("L2 512K:8", "", "l2:512K:8", "l2:512K:full"),
    Cache("L2 1M:16", "l2", "", "l2:1M:full"),
    Cache("L2 2M:16", "", "l2:2M:16", "l2:2M:full"),
)
L1D, L2_1M = CACHES[0], CACHES[2]
ALSO = tuple(name for cache in CACHES for name in (cache.further, cache.bound) if name)

# What all is to reach: cache, kind, N, per cent fewer misses than off at least
WANTED = ((L1D, "threads", 8, 80), (L1D, "pipe", 8, 40), (L2_1M, "pipe", 64, 90),
          (L2_1M, "futex", 64, 90), (L2_1M, "threads", 64, 90), (L2_1M, "pipe", 128, 50))
# Where all may lose: per cent more misses than off at most
LOSING = tuple((L1D, kind, tasks, 10) for kind in KINDS for tasks in (12, 16))
# Where to look for what still misses, and in what
LEFT = ((8, L1D), (64, L2_1M))
FUNCTIONS = 5


def cell_name(choice: str, perturb: int) -> str:
    """Return the name of a boot."""
    return f"{choice.replace(', ', '-').replace(' ', '-')}-{perturb}"


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model run."""
    return {cell_name(choice, perturb): [
        "rings", f"--cpuid={CPUID}", *(f"--also={cache}" for cache in ALSO),
        *(f"--append={word}" for word in (*APPEND, *words)), f"--set=perturb={perturb}",
        f"--set=churn={churn}"]
            for choice, (words, churn) in CHOICES.items() for perturb in PERTURB}


def kept(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the page needs of a boot: misses of each ring in each cache.

    Where LEFT says so, also by kind of data and, of one boot, by function.
    """
    found = {}
    for ring, label in result["labels"].items():
        found[ring] = {"units": label["units"],
                       **{cache.own: misses(label, cache.own) for cache in CACHES if cache.own},
                       **{cache: label["further"][cache]["all"] for cache in ALSO}}
        for tasks, cache in LEFT:
            if not ring.endswith(f"_{tasks}") or name not in (
                    cell_name("all", perturb) for perturb in PERTURB):
                continue
            found[ring]["kinds"] = {data: kind[cache.own] for data, kind in label["kinds"].items()}
            if name == cell_name("all", PERTURB[0]):
                functions = tables.by_misses(label["functions"], cache.own)[:FUNCTIONS]
                found[ring]["functions"] = {of["name"]: misses(of, cache.own) for of in functions}
    return found


# By choice the rings of each layout
Rings = dict[str, Any]
Results = dict[str, list[Rings]]


def by_choice(table: Table) -> Results:
    """Return the rings of a table by choice, one for each layout."""
    return {choice: [result_of(table, cell_name(choice, perturb))["labels"] for perturb in PERTURB]
            for choice in CHOICES}


def per_switch(results: list[Rings], cache: Cache, kind: str, tasks: int, bound: bool = False
               ) -> list[float]:
    """Return the misses per context switch of a ring, one for each layout."""
    rings = [result[f"{kind}_{tasks}"] for result in results]
    level = cache.bound if bound else cache.own or cache.further
    return [ring[level] / ring["units"] for ring in rings]


def ring_table(results: Results, cache: Cache, kind: str) -> str:
    """Return the table of one kind of rings in one cache."""
    def cell(choice: str, tasks: int, bound: bool = False) -> str:
        return mean_spread(per_switch(results[choice], cache, kind, tasks, bound))

    steady = [["N =", *STEADY, "off, full"]]
    churned = [["N =", *CHURNED]]
    for tasks in TASKS:
        steady.append([str(tasks), *(cell(choice, tasks) for choice in STEADY),
                       cell("off", tasks, bound=True)])
        churned.append([str(tasks), *(cell(choice, tasks) for choice in CHURNED)])
    return literal(
        f"{cache.name}, {kind}: misses per context switch, mean (least..most)\n\n"
        f"{tables.columns(steady)}\n\n"
        f"the same, made while {CHURN} other tasks came and went at random\n\n"
        f"{tables.columns(churned)}")


def change(results: Results, cache: Cache, kind: str, tasks: int, before: str = "off",
           after: str = "all") -> tuple[list[float], list[float], float]:
    """Return the misses of two choices and by how many per cent the second has more."""
    old, new = (per_switch(results[choice], cache, kind, tasks) for choice in (before, after))
    if not any(old):
        return old, new, math.inf if any(new) else 0
    return old, new, 100 * (statistics.mean(new) / statistics.mean(old) - 1)


def verdict_row(results: Results, cell: tuple[Cache, str, int, int], loss: bool) -> list[str]:
    """Return a row of the verdicts. loss: the limit is of what all may have more, not less."""
    cache, kind, tasks, limit = cell
    old, new, more = change(results, cache, kind, tasks)
    # The figure that is printed decides
    holds = round(more, 1) <= (limit if loss else -limit)
    return [f"{cache.name}, N = {tasks}, {kind}", mean_spread(old), mean_spread(new),
            f"{more:+.1f} %", f"at most +{limit} %" if loss else f"at least -{limit} %",
            "holds" if holds else "does not hold",
            "apart" if max(new) < min(old) or max(old) < min(new) else "overlap"]


def largest_loss(results: Results, before: str, after: str) -> str:
    """Return in which cell a choice loses most, of those with a miss a switch."""
    worst, where = 0.0, "none"
    for cache, kind, tasks in itertools.product(CACHES, KINDS, TASKS):
        old, new, more = change(results, cache, kind, tasks, before, after)
        if more > worst and statistics.mean(new) >= 1:
            worst = more
            where = (f"{more:+.1f} %, {mean_spread(old)} and {mean_spread(new)}, {cache.name}, "
                     f"N = {tasks}, {kind}")
    return f"{after}, against {before}: {where}"


def verdicts(results: Results) -> str:
    """Return the table of what was to be reached, and where colours lose most."""
    rows = [["misses per context switch", "off", "all", "change", "wanted", "", "spreads"],
            *(verdict_row(results, cell, loss=False) for cell in WANTED),
            *(verdict_row(results, cell, loss=True) for cell in LOSING)]
    pairs = [*(("off", choice) for choice in STEADY[1:]), ("off, churn", "all, churn")]
    losses = "\n".join(f"  {largest_loss(results, *pair)}" for pair in pairs)
    return literal(f"{tables.columns(rows)}\n\nThe largest loss of each choice, of all cells where "
                   f"it has at least one miss\n{losses}")


def still_missing(results: Results) -> str:
    """Return whose data, and which functions, still miss with all colours."""
    parts = []
    for tasks, cache in LEFT:
        for kind in KINDS:
            labels = [rings[f"{kind}_{tasks}"] for rings in results["all"]]
            rows = [[f"{cache.name}, N = {tasks}, {kind}, all",
                     mean_spread(per_switch(results["all"], cache, kind, tasks))]]
            for data in sorted({data for label in labels for data in label["kinds"]}):
                rows.append([f"  {data}", mean_spread([
                    label["kinds"].get(data, 0) / label["units"] for label in labels])])
            first = labels[0]
            rows += [[f"  {name}()", f"{missed / first['units']:.1f}"]
                     for name, missed in first["functions"].items() if missed]
            parts.append(tables.columns(rows))
    return literal("\n\n".join(parts))


ABOUT = (
    f"Rings of N tasks on one CPU; of {len(PERTURB)} boots for each choice, with memory perturbed "
    "in other ways, the mean (least..most). struct: task_struct_colours=auto; stack lines: "
    "kstack_colours=16; stack pages: kstack_colours=page; all: both auto. off, full: colours off, "
    "in a fully associative cache of that size, for L2 behind the L1D with sets.")
ABOUT_WANTED = ("What was wanted, of all against off. Spreads are apart where each boot of one "
                "counted less than each of the other.")
ABOUT_LEFT = ("What still misses with all on: by kind of data, and the first functions (of one "
              "boot).")


def page(table: Table) -> str:
    """Return the page, without its head."""
    results, first = by_choice(table), result_of(table, cell_name("off", PERTURB[0]))
    head = tables.headline(first).split("\n", 1)[1]
    return "\n".join([
        literal(f"{wrapped(ABOUT)}\n{head}\n-cpu {first['cpu']}"),
        *(ring_table(results, cache, kind) for kind in KINDS for cache in CACHES),
        wrapped(ABOUT_WANTED) + "\n", verdicts(results),
        wrapped(ABOUT_LEFT) + "\n", still_missing(results), literal(wrapped(tables.LIMITS))])


PUBLISHED = Published("colouring", cells(), kept, ("KSTACK_COLOUR", "TASK_STRUCT_COLOUR"))
