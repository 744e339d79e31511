# SPDX-License-Identifier: GPL-2.0
"""What the benchmarks share: building the tree's routines, running a program, the table with a
block for each CPU model."""
from __future__ import annotations

import datetime
import importlib
import json
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selftests.results import store
from selftests.results.machine import Machine, machine, same_model, told
from selftests.results.store import Table

HERE = Path(__file__).resolve().parent
UNIT = "cycles of the time-stamp counter"
LOOPS = "tools/testing/selftests/x86/copyloops"

# By size and copy: median and quartiles
Measured = dict[str, dict[str, dict[str, Any]]]


class BenchError(Exception):
    """Says in one line why there is no result."""


def command(*words: str | Path) -> str:
    """Run a command and return what it prints; raises BenchError."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise BenchError(f"{Path(str(words[0])).name}: {last}")
    return done.stdout


def summary(values: list[float]) -> dict[str, float]:
    """Return median and quartiles, in cycles."""
    low, median, high = statistics.quantiles(values, n=4)
    return {"median": round(median, 2), "low": round(low, 2), "high": round(high, 2)}


def assemble(tree: Path, directory: Path, sources: tuple[tuple[str, str, list[str]], ...]
             ) -> list[Path]:
    """Assemble routines of a kernel tree, unchanged, with the stub headers of its kselftest
    x86/copyloops.

    sources: file below arch/x86/lib, name of the object, more options of the assembler. Returns the
    objects; raises BenchError.
    """
    lib = tree / "arch/x86/lib"
    flags = ["-m64", "-D__ASSEMBLY__", f"-I{tree / LOOPS / 'include'}", "-Wa,--noexecstack", "-c"]
    objects = []
    for source, name, more in sources:
        if not (lib / source).is_file() or not (tree / LOOPS).is_dir():
            raise BenchError(f"{tree} is no kernel tree with the series: run make apply")
        objects.append(directory / name)
        command("gcc", *flags, *more, "-o", objects[-1], lib / source)
    return objects


def samples(program: Path, measure: str | Path, rounds: int,
            by: tuple[str, str] = ("bytes", "copy"),
            ) -> Measured:
    """Run a measure of a program that prints a line of JSON for each sample; return summaries.

    measure: its name, or a file that says it; by: the keys of a sample that summaries are kept
    under.
    """
    found: dict[int | str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in command(program, measure, str(rounds)).splitlines():
        row = json.loads(line)
        found[row[by[0]]][row[by[1]]].append(row["cycles"])
    print(f"{program.name}: {Path(measure).name}: {rounds} rounds", flush=True)
    return {str(size): {name: summary(values) for name, values in copies.items()}
            for size, copies in found.items()}


def cells_of(measures: dict[str, Measured]) -> dict[str, dict[str, list[float]]]:
    """Return summaries as a table has them: a cell MEASURE/SIZE with median and quartiles of each
    copy."""
    return {f"{measure}/{size}": {name: [found["median"], found["low"], found["high"]]
                                  for name, found in copies.items()}
            for measure, sizes in measures.items() for size, copies in sizes.items()}


def measures_of(block: dict[str, Any]) -> dict[str, Measured]:
    """Return the summaries of a block by measure; a quartile that was not recorded is None."""
    found: dict[str, Measured] = defaultdict(dict)
    for cell, copies in block["cells"].items():
        measure, _, size = cell.partition("/")
        found[measure][size] = {name: dict(zip(("median", "low", "high"), values, strict=True))
                                for name, values in copies.items()}
    return dict(found)


def model_words(of: Machine) -> str:
    """Return the CPU model of a machine in words."""
    return f"{of.get('model name')}, family {of.get('cpu family')}, model {of.get('model')}"


def machine_words(block: dict[str, Any]) -> str:
    """Return the CPU of a block and what it was measured with, in words."""
    of = block["machine"]
    return f"{model_words(of)} ({of['caches']}; {of['copy flags']}), {block['compiler']}"


@dataclass(frozen=True)
class Bench:
    """The timed table of a group.

    group: its name; run: measures with a tree, so many rounds, and returns what a block has:
    "measures" by name, and more of its own; page: from a block, with its measures, its part of the
    page; programs: what the table depends on beside bench.py, below selftests/GROUP.
    """

    group: str
    run: Callable[[Path, int], dict[str, Any]]
    page: Callable[[dict[str, Any]], str]
    programs: tuple[str, ...]

    def files(self) -> list[str]:
        """Return the files that the table depends on, from the repository."""
        return [f"selftests/{self.group}/{name}" for name in ("bench.py", *self.programs)]

    def part_of(self, block: dict[str, Any]) -> str:
        """Return the part of the page that is about one CPU model."""
        of, measures = block["machine"], measures_of(block)
        missing = sum(None in values for copies in block["cells"].values()
                      for values in copies.values())
        more = [f"Quartiles of {missing} medians were not recorded."] if missing else []
        return "\n".join([
            f".. rubric:: {model_words(of)}",
            "", told(of), f"Series {block['series']}.", *more, "",
            self.page({**block, "measures": measures})])

    def page_of(self, table: Table) -> str:
        """Return the whole page of a table: its CPU models one after another."""
        return "\n".join([
            ".. SPDX-License-Identifier: GPL-2.0",
            f".. Made by selftests/{self.group}/bench.py from bench.json: do not edit.", "",
            *map(self.part_of, table["blocks"])])

    def keep(self, block: dict[str, Any]) -> None:
        """Publish a block: in place of that of the same CPU model, or after those of others. Raises
        OSError, ValueError."""
        there = store.file_of(self.group, "bench").exists()
        blocks = store.read(self.group, "bench")["blocks"] if there else []
        others = [other for other in blocks if not same_model(other["machine"], block["machine"])]
        table = {"kind": "timed", "unit": UNIT, "blocks": [*others, block]}
        store.publish(self.group, "bench", table, self.page_of(table))

    def measure(self, tree: Path, rounds: int) -> None:
        """Measure, and publish the result. tree: with the series pushed. Raises OSError,
        BenchError, and ValueError for a tree or a repository of which no result is published."""
        files = self.files()
        if why := store.refusal(files, tree):
            raise ValueError(why)
        depends = store.depends(self.group, files)
        more = self.run(tree, rounds)
        if store.depends(self.group, files) != depends:
            raise ValueError(store.CHANGED_MEANWHILE)
        cells = cells_of(more.pop("measures"))
        self.keep({"machine": machine(), "compiler": command("gcc", "--version").splitlines()[0],
                   "rounds": rounds,
                   "series": store.series_hash(store.queue_of_today()),
                   "command": f"make bench GROUP={self.group} ROUNDS={rounds}",
                   "date": datetime.date.today().isoformat(),
                   **{key: more[key] for key in more if key != "modelled"},
                   "depends": depends, "cells": cells,
                   **({"modelled": more["modelled"]} if "modelled" in more else {})})


def groups() -> dict[str, Bench]:
    """Return the timed tables of all groups that have one, by the group's name."""
    names = sorted(path.parent.name for path in HERE.parent.glob("*/bench.py"))
    return {name: importlib.import_module(f"selftests.{name}.bench").BENCH for name in names}
