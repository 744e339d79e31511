# SPDX-License-Identifier: GPL-2.0
"""What the benchmarks share: building the tree's routines, running a program, the table with a
block for each CPU model."""
import json
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.environment import ROOT
from tools.figures import store
from tools.figures.cells import Block, Cell, by_row
from tools.figures.machine import same_model
from tools.model.tables import columns

# Where tsc.h is, which programs include
HEADERS = ROOT / "tools/figures"
UNIT = "cycles of the time-stamp counter"
LOOPS = "tools/testing/selftests/x86/copyloops"

Sample = dict[str, Any]


class BenchError(Exception):
    """Says in one line why there is no result."""


class NotBuilt(BenchError):
    """Says what builds the program that is missing: a run of other tables goes on."""


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


def samples(program: Path, words: tuple[str | Path, int],
            columns_of: Callable[[Sample], dict[str, Any]]) -> list[Cell]:
    """Run a program that prints a line of JSON for each sample; return the cells.

    words: the name of its measure, or a file that says it, and the rounds; columns_of: from a
    sample, those of the cell that it is of.
    """
    found: dict[tuple[tuple[str, Any], ...], list[float]] = defaultdict(list)
    for line in command(program, *map(str, words)).splitlines():
        sample = json.loads(line)
        found[tuple(columns_of(sample).items())].append(sample["cycles"])
    print(f"{program.name}: {Path(words[0]).name}: {words[1]} rounds", flush=True)
    return [Cell(**dict(columns), **summary(values)) for columns, values in found.items()]


def of_sizes(measure: str) -> Callable[[Sample], dict[str, Any]]:
    """Return the columns of a measure's samples that have a size and a copy."""
    return lambda sample: {"measure": measure, "bytes": sample["bytes"], "copy": sample["copy"]}


def listing(block: Block) -> str:
    """Return the medians of a block, a line for each row."""
    names = list(dict.fromkeys(cell.copy for cell in block["cells"]))
    lines = [["", *names]]
    for found in by_row(block["cells"]):
        lines.append([next(iter(found.values())).name,
                      *(f"{found[name].median:.1f}" if name in found else "" for name in names)])
    return columns(lines)


def keep(group: str, block: Block, name: str = "bench") -> None:
    """Publish a block of a group's table, in place of its CPU model's. Raises as store.read()."""
    there = store.file_of(group, name).exists()
    blocks = store.read(group, name)["blocks"] if there else []
    others = [other for other in blocks if not same_model(other["machine"], block["machine"])]
    store.publish(group, name, {"kind": "timed", "unit": block.get("unit", UNIT),
                                "blocks": [*others, block]})
