#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tables of colouring: misses per context switch in rings of tasks, with each kind of colours and without.

  colouring.py count OPTION...   boots for all cells, two at a time (options of
                                 model.py run; --only PATTERN: some of them);
                                 cells that are there are kept
  colouring.py tables            makes Documentation/results/colouring.rst

A cell is a boot with one choice of colours and one perturbed layout of memory;
it runs all rings. The kernel has the options KSTACK_COLOUR and
TASK_STRUCT_COLOUR. Results are kept in Documentation/results/colouring/*.json,
what the tables need of them.

Exit status: 0 done, 1 a boot failed, 2 usage, 130 interrupted.
"""
from __future__ import annotations

import itertools
import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tables
from published import RESULTS, Published, literal, main, mean_spread, wrapped
from result import misses
from workloads import WORKLOADS

PERTURB = (0, 3, 10, 31, 100)
CHURN = 32
KINDS = ("pipe", "futex", "threads")
TASKS = tuple(map(int, WORKLOADS["rings"].words["tasks"].split(":")))

# CPUID says what the modelled caches are, as far as QEMU can be told: 64 sets of L1D (by default it is AMD's with 512),
# and for L2 64 page colours, a multiple of what each modelled one has. Without XSAVES, which QEMU has not, the state of
# protection keys stands behind the place of AVX-512's: it would take the room of the colours.
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
WANTED = ((L1D, "threads", 8, 80), (L1D, "pipe", 8, 40),
          *((L2_1M, kind, 64, 90) for kind in KINDS),
          (L2_1M, "pipe", 128, 50))
# Where all may lose: per cent more misses than off at most
LOSING = tuple((L1D, kind, tasks, 10) for kind in KINDS for tasks in (12, 16))
# Where to look for what still misses, and in what
LEFT = ((8, L1D), (64, L2_1M))
FUNCTIONS = 5


def cell_name(choice: str, perturb: int) -> str:
    """Return the name of a boot."""
    return f"{choice.replace(', ', '-').replace(' ', '-')}-{perturb}"


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model.py run."""
    return {cell_name(choice, perturb): [
        "rings", f"--cpuid={CPUID}", *(f"--also={cache}" for cache in ALSO),
        *(f"--append={word}" for word in (*APPEND, *words)), f"--set=perturb={perturb}", f"--set=churn={churn}"]
            for choice, (words, churn) in CHOICES.items() for perturb in PERTURB}


def top(functions: list[dict[str, Any]], level: str) -> list[dict[str, Any]]:
    """Return the functions with most misses in a level."""
    return tables.by_misses(functions, level)[:FUNCTIONS]


def reduced(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the tables need of a boot's result: no kinds of the further
    caches, and functions of the boot and the rings that are looked at only."""
    labels = {}
    for ring, label in result["labels"].items():
        functions = [function for tasks, cache in LEFT
                     if name == cell_name("all", PERTURB[0]) and ring.endswith(f"_{tasks}")
                     for function in top(label["functions"], cache.own)]
        labels[ring] = {**label, "executed": {}, "functions": functions,
                        "further": {cache: {"all": found["all"]} for cache, found in label["further"].items()}}
    return {**result, "labels": labels}


PUBLISHED = Published(RESULTS / "colouring", cells(), "colouring.py", varying=("append",), reduced=reduced)

Results = dict[str, list[dict[str, Any]]]


def read_all() -> Results:
    """Return the kept results by choice, one for each layout."""
    return {choice: [PUBLISHED.kept(cell_name(choice, perturb)) for perturb in PERTURB] for choice in CHOICES}


def per_switch(results: list[dict[str, Any]], cache: Cache, kind: str, tasks: int, bound: bool = False) -> list[float]:
    """Return the misses per context switch of a ring, one for each layout."""
    found = []
    for result in results:
        label = result["labels"][f"{kind}_{tasks}"]
        further = cache.bound if bound else cache.further
        missed = label["further"][further]["all"] if further else misses(label, cache.own)
        found.append(missed / label["units"])
    return found


def table(results: Results, cache: Cache, kind: str) -> str:
    """Return the table of one kind of rings in one cache."""
    rows = [["N =", *STEADY, "off, full"]]
    churned = [["N =", *CHURNED]]
    for tasks in TASKS:
        rows.append([str(tasks), *(mean_spread(per_switch(results[choice], cache, kind, tasks)) for choice in STEADY),
                     mean_spread(per_switch(results["off"], cache, kind, tasks, bound=True))])
        churned.append([str(tasks), *(
            mean_spread(per_switch(results[choice], cache, kind, tasks)) for choice in CHURNED)])
    return literal(f"{cache.name}, {kind}: misses per context switch, mean (least..most)\n\n{tables.columns(rows)}\n\n"
                   f"the same, made while {CHURN} other tasks came and went at random\n\n{tables.columns(churned)}")


def change(results: Results, cache: Cache, kind: str, tasks: int, before: str = "off", after: str = "all"
           ) -> tuple[list[float], list[float], float]:
    """Return the misses of two choices and by how many per cent the second has
    more, infinitely many if the first has none."""
    old, new = (per_switch(results[choice], cache, kind, tasks) for choice in (before, after))
    if not any(old):
        return old, new, math.inf if any(new) else 0
    return old, new, 100 * (statistics.mean(new) / statistics.mean(old) - 1)


def verdict_row(results: Results, cell: tuple[Cache, str, int, int], loss: bool) -> list[str]:
    """Return a row of the verdicts. loss: the limit is what all may have more,
    not what it must have less."""
    cache, kind, tasks, limit = cell
    old, new, more = change(results, cache, kind, tasks)
    # The figure that is printed decides
    holds = round(more, 1) <= (limit if loss else -limit)
    return [f"{cache.name}, N = {tasks}, {kind}", mean_spread(old), mean_spread(new), f"{more:+.1f} %",
            f"at most +{limit} %" if loss else f"at least -{limit} %", "holds" if holds else "does not hold",
            "apart" if max(new) < min(old) or max(old) < min(new) else "overlap"]


def largest_loss(results: Results, before: str, after: str) -> str:
    """Return in which cell a choice loses most, of those with a miss a switch."""
    worst, told = 0.0, "none"
    for cache, kind, tasks in itertools.product(CACHES, KINDS, TASKS):
        old, new, more = change(results, cache, kind, tasks, before, after)
        if more > worst and statistics.mean(new) >= 1:
            worst = more
            told = f"{more:+.1f} %, {mean_spread(old)} and {mean_spread(new)}, {cache.name}, N = {tasks}, {kind}"
    return f"{after}, beside {before}: {told}"


def verdicts(results: Results) -> str:
    """Return the table of what was to be reached, and where colours lose most."""
    rows = [["misses per context switch", "off", "all", "change", "wanted", "", "spreads"]]
    rows += [verdict_row(results, cell, loss=False) for cell in WANTED]
    rows += [verdict_row(results, cell, loss=True) for cell in LOSING]
    pairs = [("off", choice) for choice in STEADY if choice != "off"] + [("off, churn", "all, churn")]
    losses = "\n".join(f"  {largest_loss(results, *pair)}" for pair in pairs)
    return literal(f"{tables.columns(rows)}\n\n"
                   f"The largest loss of each choice, of all cells where it has at least one miss\n{losses}")


def still_missing(results: Results) -> str:
    """Return whose data, and which functions, still miss with all colours."""
    parts = []
    for tasks, cache in LEFT:
        for kind in KINDS:
            labels = [result["labels"][f"{kind}_{tasks}"] for result in results["all"]]
            rows = [[f"{cache.name}, N = {tasks}, {kind}, all",
                     mean_spread(per_switch(results["all"], cache, kind, tasks))]]
            for data in sorted({data for label in labels for data in label["kinds"]}):
                rows.append([f"  {data}", mean_spread([
                    label["kinds"].get(data, {}).get(cache.own, 0) / label["units"] for label in labels])])
            first = labels[0]
            rows += [[f"  {function['name']}()", f"{misses(function, cache.own) / first['units']:.1f}"]
                     for function in top(first["functions"], cache.own) if misses(function, cache.own)]
            parts.append(tables.columns(rows))
    return literal("\n\n".join(parts))


def pages() -> dict[Path, str]:
    """Return the file that is made of the results, with its text.

    Raises OSError for a cell that is missing, ValueError for one that is of
    another kernel than the others.
    """
    PUBLISHED.check_one_kernel()
    results = read_all()
    first = results["off"][0]
    head = tables.headline(first).split("\n", 1)[1]
    about = (f"Rings of N tasks on one CPU; of {len(PERTURB)} boots for each choice, with memory perturbed in other "
             "ways, the mean (least..most). struct: task_struct_colours=auto; stack lines: kstack_colours=16; stack "
             "pages: kstack_colours=page; all: both auto. off, full: colours off, in a fully associative cache of "
             "that size, for L2 behind the L1D with sets.")
    wanted = ("What was wanted, of all beside off. Spreads are apart where each boot of one counted less than each of "
              "the other.")
    left = "What still misses with all on: by kind of data, and the first functions (of one boot)."
    return {RESULTS / "colouring.rst": PUBLISHED.note() + "\n".join([
        literal(f"{wrapped(about)}\n{head}\n-cpu {first['cpu']}"),
        *(table(results, cache, kind) for kind in KINDS for cache in CACHES),
        wrapped(wanted) + "\n", verdicts(results), wrapped(left) + "\n", still_missing(results),
        literal(wrapped(tables.LIMITS))])}


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", PUBLISHED, pages))
