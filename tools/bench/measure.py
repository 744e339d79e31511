# SPDX-License-Identifier: GPL-2.0
"""What the benchmarks share: building the tree's routines, running a program, the table with a
block for each CPU model."""
from __future__ import annotations

import datetime
import importlib
import json
import os
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.results import store
from tools.results.machine import Machine, machine, same_model, told
from tools.results.store import Table
from tools.series import series_hash

HERE = Path(__file__).resolve().parent
UNIT = "cycles of the time-stamp counter"
LOOPS = "tools/testing/selftests/x86/copyloops"

# By size and copy: median and quartiles, and of some the worst
STATISTICS = ("median", "low", "high", "worst")
Measured = dict[str, dict[str, dict[str, Any]]]


class BenchError(Exception):
    """Says in one line why there is no result."""


def command(*words: str | Path) -> str:
    """Run a command and return what it prints; raises BenchError."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise BenchError(f"{Path(str(words[0])).name}: {said}")
    return done.stdout


def summary(values: list[float]) -> dict[str, float]:
    """Return median and quartiles, in cycles."""
    low, median, high = statistics.quantiles(values, n=4)
    return {"median": round(median, 2), "low": round(low, 2), "high": round(high, 2)}


def assemble(tree: Path, directory: Path, sources: tuple[tuple[str, str, list[str]], ...]
             ) -> list[Path]:
    """Assemble a kernel tree's routines with the stub headers of its kselftest x86/copyloops.

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

    measure: its name, or a file that says it; by: the keys of a sample to keep them under.
    """
    found: dict[int | str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in command(program, measure, str(rounds)).splitlines():
        row = json.loads(line)
        found[row[by[0]]][row[by[1]]].append(row["cycles"])
    print(f"{program.name}: {Path(measure).name}: {rounds} rounds", flush=True)
    return {str(size): {name: summary(values) for name, values in copies.items()}
            for size, copies in found.items()}


def cells_of(measures: dict[str, Measured]) -> dict[str, dict[str, list[float]]]:
    """Return summaries as a table's cells MEASURE/SIZE: a list of the statistics of each copy."""
    return {f"{measure}/{size}": {name: [found[key] for key in STATISTICS if key in found]
                                  for name, found in copies.items()}
            for measure, sizes in measures.items() for size, copies in sizes.items()}


def measures_of(block: dict[str, Any]) -> dict[str, Measured]:
    """Return the summaries of a block by measure."""
    found: dict[str, Measured] = defaultdict(dict)
    for cell, copies in block["cells"].items():
        measure, _, size = cell.partition("/")
        found[measure][size] = {name: dict(zip(STATISTICS, values, strict=False))
                                for name, values in copies.items()}
    return dict(found)


def model_words(of: Machine) -> str:
    """Return the CPU model of a machine in words."""
    return f"{of.get('model name')}, family {of.get('cpu family')}, model {of.get('model')}"


def machine_words(block: dict[str, Any]) -> str:
    """Return the CPU of a block and what it was measured with, in words."""
    of = block["machine"]
    return f"{model_words(of)} ({of['caches']}; {of['copy flags']}), {block['compiler']}"


def page_of(table: Table, part: Callable[[dict[str, Any]], str]) -> str:
    """Return the page of a timed table, its CPU models one after another.

    part: from a block, with its measures, what its part of the page has below the machine's facts.
    """
    parts = []
    for block in table["blocks"]:
        parts += [f".. rubric:: {model_words(block['machine'])}", "", told(block["machine"]),
                  f"Series {block['series']}.", "",
                  part({**block, "measures": measures_of(block)})]
    return "\n".join(parts)


def keep(group: str, block: dict[str, Any], name: str = "bench") -> None:
    """Publish a block of a group's table, in place of its CPU model's. Raises as store.read()."""
    there = store.file_of(group, name).exists()
    blocks = store.read(group, name)["blocks"] if there else []
    others = [other for other in blocks if not same_model(other["machine"], block["machine"])]
    store.publish(group, name, {"kind": "timed", "unit": block.get("unit", UNIT),
                                "blocks": [*others, block]})


def files_of(group: str, name: str) -> list[str]:
    """Return what a table depends on besides its group's patches: files below the repository, and
    what PATCHES of the program names, "patches of GROUP" of other groups."""
    program = importlib.import_module(f"selftests.{group}.{name}")
    files = [os.path.normpath(f"selftests/{group}/{file}")
             for file in (f"{name}.py", *program.PROGRAMS)]
    return [*files, *getattr(program, "PATCHES", ())]


def measure(group: str, name: str, tree: Path, rounds: int, made_by: str
            ) -> tuple[dict[str, Any], list[str]]:
    """Run selftests/GROUP/NAME.py; return its block, and what breaks the table's own rule.

    tree: with the series pushed; rounds: how often each copy has its turn; made_by: the command
    that the block names. Raises OSError, BenchError, and ValueError for a tree or a repository of
    which no result is published.
    """
    program = importlib.import_module(f"selftests.{group}.{name}")
    depends = store.ready(group, files_of(group, name), tree)
    more = program.run(tree, rounds)
    store.unchanged(group, depends)
    block = {
        "machine": machine(), "compiler": command("gcc", "--version").splitlines()[0],
        "rounds": rounds, "series": series_hash(store.queue_of_today().patches),
        "command": made_by, "date": datetime.date.today().isoformat(), "depends": depends,
        **{key: cells_of(value) if key == "cells" else value for key, value in more.items()}}
    return block, program.complaints(block) if hasattr(program, "complaints") else []


def shown(group: str, name: str, block: dict[str, Any]) -> str:
    """Return what a block's part of the page is."""
    program = importlib.import_module(f"selftests.{group}.{name}")
    return str(program.page({"kind": "timed", "unit": UNIT, "blocks": [block]}))
