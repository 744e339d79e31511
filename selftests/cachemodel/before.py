#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tables of mainline's code as it is, which the series is held against.

  before.py count OPTION...   boots for all cells, two at a time (options of
                              model.py run); cells that are there are kept
  before.py tables            makes Documentation/results/*.rst from the results

The results are kept in Documentation/results/model/*.json, with the first
functions only: `make lint` checks that the tables are made of them, and that
all are of one kernel and one QEMU.

Exit status: 0 done, 1 a boot failed, 2 usage, 130 interrupted.
"""
from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import tables
from result import LEVELS, misses

HERE = Path(__file__).resolve().parent
KEPT = HERE.parents[1] / "Documentation/results/model"
TASKS = (4, 8, 12, 16, 32, 64, 128, 256)
PERTURB = (0, 3, 10, 31, 100)
WRITERS_PERTURB = (0, 10, 100)
SWITCHES = 4000
FUNCTIONS = 12
WRITERS = {
    "writers-4k": ["writers=4", "record=4096"],
    "writers-64k": ["writers=4", "record=65536"],
    "writers-4k-tmpfs": ["writers=4", "record=4096", "fs=tmpfs"],
}


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model.py run."""
    runs = {f"{name}-{perturb}": ["writers", "--bound", f"--set=perturb={perturb}",
                                  *(f"--set={word}" for word in words)]
            for name, words in WRITERS.items() for perturb in WRITERS_PERTURB}
    for tasks in TASKS:
        for perturb in PERTURB:
            runs[f"ring-{tasks}-{perturb}"] = [
                "ring", "--bound", f"--set=tasks={tasks}", f"--set=perturb={perturb}",
                f"--set=rounds={SWITCHES // tasks}"]
    return runs


def shorten(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with the first functions only, and without what is the
    machine's: seconds and rate."""
    labels = {name: {**label, "functions": label["functions"][:FUNCTIONS],
                     "functions_cut": FUNCTIONS}
              for name, label in result["labels"].items()}
    return {**{key: value for key, value in result.items()
               if key not in ("seconds", "accesses_per_second")}, "labels": labels}


def count(directory: Path, options: list[str]) -> int:
    """Boot for each cell whose result is not there; return the exit status.

    directory: for all that a run leaves; options: of model.py run.
    """
    KEPT.mkdir(parents=True, exist_ok=True)
    options = ["--results", str(directory), *options]
    done_cells = itertools.count(1)

    def one(name: str, arguments: list[str]) -> bool:
        if (KEPT / f"{name}.json").exists():
            print(f"before.py: {next(done_cells)}/{len(cells())} {name}: is there, kept")
            return True
        told = "make model " + " ".join(
            [f"WORKLOAD={arguments[0]}", "BOUND=1",
             'SET="' + " ".join(word.removeprefix("--set=") for word in arguments
                                if word.startswith("--set=")) + '"'])
        done = subprocess.run(
            [sys.executable, str(HERE / "model.py"), "run", *arguments,
             "--name", f"before-{name}", *options, "--told", told],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            last = done.stdout.strip().split("\n")[-1]
            print(f"before.py: {name}: {last}", file=sys.stderr)
            return False
        result = json.loads((directory / f"before-{name}.json").read_text())
        scratch = KEPT / f"{name}.tmp"
        scratch.write_text(json.dumps(shorten(result), indent=1) + "\n")
        scratch.replace(KEPT / f"{name}.json")
        print(f"before.py: {next(done_cells)}/{len(cells())} {name}: "
              f"{result['seconds']:.0f} s", flush=True)
        return True

    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        return 0 if all(pool.map(lambda cell: one(*cell), cells().items())) else 1


def kept(name: str) -> dict[str, Any]:
    """Return a kept result; raises OSError or ValueError."""
    return json.loads((KEPT / f"{name}.json").read_text())


def spread(values: list[float]) -> str:
    """Return median (least..most) of some runs."""
    return (f"{statistics.median(values):.1f} ({min(values):.1f}..{max(values):.1f})")


def literal(text: str) -> str:
    """Return text as a literal block."""
    return "::\n\n" + "\n".join(f"   {line}".rstrip() for line in text.split("\n")) + "\n"


def ring_rows(level: str) -> list[list[str]]:
    """Return the rows of one level: misses per switch by tasks and kind."""
    kinds = ("task_struct", "kernel stack", "other")
    rows = [[f"{tables.HEADS[level]} misses, N =", "all", *kinds, "fully associative"]]
    for tasks in TASKS:
        runs = [kept(f"ring-{tasks}-{perturb}") for perturb in PERTURB]
        labels = [run["labels"]["ring"] for run in runs]

        def each(kind: str) -> list[float]:
            return [label["kinds"][kind][level] / label["units"] for label in labels]
        rows.append([str(tasks), spread(
            [misses(label, level) / label["units"] for label in labels]),
            *(spread(each(kind)) for kind in kinds),
            spread([misses(run["fully_associative"]["ring"], level) /
                    run["fully_associative"]["ring"]["units"] for run in runs])])
    return rows


def ring_table() -> str:
    """Return the page part about the ring."""
    first = kept(f"ring-{TASKS[0]}-{PERTURB[0]}")
    lines = [label["kinds"] for label in (
        kept(f"ring-64-{perturb}")["labels"]["ring"] for perturb in PERTURB)]
    footprint = ", ".join(
        f"{kind} {statistics.median(kinds[kind]['lines'] for kinds in lines) / 64:.0f}"
        for kind in ("task_struct", "kernel stack"))
    head = tables.headline(first).split("\n", 1)[1]
    body = "\n\n".join(tables.columns(ring_rows(level)) for level in ("l1d", "l2"))
    return literal(
        f"Misses per context switch in a ring of N tasks; of {len(PERTURB)} boots with\n"
        f"perturbed memory the median (least..most)\n{head}\n\n{body}\n\n"
        f"Lines touched / tasks, N = 64: {footprint}\n\n"
        + wrapped(tables.LIMITS))


def wrapped(text: str, width: int = 100) -> str:
    """Return text in lines of at most width characters."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def writers_table() -> str:
    """Return the page part about the writers."""
    parts = []
    for name in WRITERS:
        runs = [kept(f"{name}-{perturb}") for perturb in WRITERS_PERTURB]
        result = runs[0]
        parts += [tables.headline(result), tables.summary(result, "writers"),
                  tables.top_functions(result, "writers", 5),
                  f"LLC misses per record, of {len(runs)} boots with perturbed memory "
                  "the median (least..most): " + spread([
                      misses(run["labels"]["writers"], "llc") /
                      run["labels"]["writers"]["units"] for run in runs])]
    return literal("\n\n".join([*parts, wrapped(tables.LIMITS)]))


def check_one_kernel() -> None:
    """Raise ValueError unless all kept results are of one kernel and QEMU, and
    those of one workload of one geometry."""
    seen: dict[str, Any] = {}
    for name in cells():
        result = kept(name)
        for key, value in (
                ("kernel", result["kernel"]), ("qemu", result["qemu"]),
                ("cpu", result["cpu"]), ("memory", result["memory"]),
                (f"geometry of {result['workload']}", result["geometry"])):
            if seen.setdefault(key, value) != value:
                raise ValueError(f"{name} has another {key}: {value}, not {seen[key]}; "
                                 f"remove {KEPT.name}/ and count all again")


def pages() -> dict[Path, str]:
    """Return the files that are made of the results, with their text.

    Raises OSError for a cell that is missing, ValueError for one that is of
    another kernel than the others.
    """
    check_one_kernel()
    note = (".. SPDX-License-Identifier: GPL-2.0\n"
            ".. Made by selftests/cachemodel/before.py from model/*.json: do not edit.\n\n")
    return {KEPT.parent / "before-ring.rst": note + ring_table(),
            KEPT.parent / "before-writers.rst": note + writers_table()}


def main() -> int:
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=("count", "tables"))
    parser.add_argument("--results", type=Path, default=Path("build/results/model"))
    args, options = parser.parse_known_args()
    try:
        if args.what == "count":
            return count(args.results, options)
        for path, text in pages().items():
            path.write_text(text)
    except (OSError, ValueError) as error:
        print(f"before.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("before.py: interrupted; what was counted is kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
