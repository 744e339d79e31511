# SPDX-License-Identifier: GPL-2.0
"""Results that are kept in Documentation/results, with the first functions only, and the tables made of them."""
from __future__ import annotations

import argparse
import fnmatch
import itertools
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "Documentation/results"
FUNCTIONS = 12


Reduced = Callable[[str, dict[str, Any]], dict[str, Any]]


class Published:
    """Results of some cells, in a directory below Documentation/results.

    cells: the options of model.py run by name; made_by: script that makes the
    tables; functions: kept even if they are not among the first; varying: what
    need not be the same of the kernels, for cells that differ in it; reduced:
    what is kept of a cell's result before it is shortened, by its name.
    """

    def __init__(self, directory: Path, cells: dict[str, list[str]], made_by: str, functions: tuple[str, ...] = (),
                 varying: tuple[str, ...] = (), reduced: Reduced | None = None) -> None:
        self.directory, self.cells, self.made_by, self.functions = directory, cells, made_by, functions
        self.varying, self.reduced = varying, reduced
        self.prefix = made_by.removesuffix(".py")

    def whole(self, name: str, result: dict[str, Any]) -> str:
        """Return the text that is kept of a cell's result."""
        if self.reduced:
            return json.dumps(shorten(self.reduced(name, result), self.functions), separators=(",", ":")) + "\n"
        return json.dumps(shorten(result, self.functions), indent=1) + "\n"

    def count(self, results: Path, options: list[str], only: list[str]) -> int:
        """Boot for each cell whose result is not there; return the exit status.

        results: for all that a run leaves; options: of model.py run; only:
        patterns as of a shell of the cells' names, none for all. Raises
        ValueError for a pattern that no cell has.
        """
        for pattern in only:
            if not fnmatch.filter(self.cells, pattern):
                raise ValueError(f"no boot {pattern}; there are {' '.join(self.cells)}")
        cells = {name: arguments for name, arguments in self.cells.items()
                 if not only or any(fnmatch.fnmatchcase(name, pattern) for pattern in only)}
        self.directory.mkdir(parents=True, exist_ok=True)
        options = ["--results", str(results), *options]
        done_cells = itertools.count(1)

        def say(name: str, text: str) -> None:
            print(f"{self.made_by}: {next(done_cells)}/{len(cells)} {name}: {text}", flush=True)

        def one(name: str, arguments: list[str]) -> bool:
            if (self.directory / f"{name}.json").exists():
                say(name, "is there, kept")
                return True
            words = {name: [word.split("=", 1)[1] for word in arguments if word.startswith(f"--{name.lower()}=")]
                     for name in ("SET", "ALSO", "CPUID", "APPEND")}
            told = " ".join([f"make model WORKLOAD={arguments[0]}", *(["BOUND=1"] if "--bound" in arguments else []),
                             *(f'{name}="{" ".join(given)}"' for name, given in words.items() if given or name == "SET")])
            done = subprocess.run(
                [sys.executable, str(HERE / "model.py"), "run", *arguments,
                 "--name", f"{self.prefix}-{name}", *options, "--told", told],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode:
                last = done.stdout.strip().split("\n")[-1]
                print(f"{self.made_by}: {name}: {last}", file=sys.stderr)
                return False
            result = json.loads((results / f"{self.prefix}-{name}.json").read_text())
            scratch = self.directory / f"{name}.tmp"
            scratch.write_text(self.whole(name, result))
            scratch.replace(self.directory / f"{name}.json")
            say(name, f"{result['seconds']:.0f} s")
            return True

        with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
            return 0 if all(pool.map(lambda cell: one(*cell), cells.items())) else 1

    def kept(self, name: str) -> dict[str, Any]:
        """Return a kept result; raises OSError or ValueError."""
        return json.loads((self.directory / f"{name}.json").read_text())

    def check_one_kernel(self) -> None:
        """Raise ValueError unless all kept results are of one kernel and QEMU, and
        those of one workload of one geometry."""
        seen: dict[str, Any] = {}
        for name in self.cells:
            result = self.kept(name)
            kernel = {key: value for key, value in result["kernel"].items() if key not in self.varying}
            for key, value in (
                    ("kernel", kernel), ("qemu", result["qemu"]),
                    ("cpu", result["cpu"]), ("memory", result["memory"]),
                    (f"geometry of {result['workload']}", result["geometry"])):
                if seen.setdefault(key, value) != value:
                    raise ValueError(f"{name} has another {key}: {value}, not {seen[key]}; "
                                     f"remove {self.directory.name}/ and count all again")

    def note(self) -> str:
        """Return the head of a file that is made of the results."""
        return (".. SPDX-License-Identifier: GPL-2.0\n"
                f".. Made by selftests/cachemodel/{self.made_by} from {self.directory.name}/*.json: do not edit.\n\n")


def shorten(result: dict[str, Any], keep: tuple[str, ...]) -> dict[str, Any]:
    """Return a result with the first functions and those to keep only, and
    without what is the machine's: seconds and rate."""
    labels = {name: {**label, "functions": [
                  function for rank, function in enumerate(label["functions"])
                  if rank < FUNCTIONS or function["name"] in keep], "functions_cut": FUNCTIONS}
              for name, label in result["labels"].items()}
    return {**{key: value for key, value in result.items()
               if key not in ("seconds", "accesses_per_second")}, "labels": labels}


def spread(values: list[float]) -> str:
    """Return median (least..most) of some runs."""
    return (f"{statistics.median(values):.1f} ({min(values):.1f}..{max(values):.1f})")


def mean_spread(values: list[float]) -> str:
    """Return mean (least..most) of some runs."""
    return f"{statistics.mean(values):.1f} ({min(values):.1f}..{max(values):.1f})"


def literal(text: str) -> str:
    """Return text as a literal block."""
    return "::\n\n" + "\n".join(f"   {line}".rstrip() for line in text.split("\n")) + "\n"


def wrapped(text: str, width: int = 100) -> str:
    """Return text in lines of at most width characters."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def main(doc: str, published: Published, pages: Callable[[], dict[Path, str]]) -> int:
    """Do what the command line says, for a script that publishes; return the exit status.

    doc: of the script; pages: returns its files with their text, raises OSError or ValueError.
    """
    parser = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("count", "tables"))
    parser.add_argument("--results", type=Path, default=Path("build/results/model"))
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN",
                        help="count these boots only; may be repeated")
    args, options = parser.parse_known_args()
    try:
        if args.what == "count":
            return published.count(args.results, options, args.only)
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        print(f"{published.made_by}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{published.made_by}: interrupted; what was counted is kept", file=sys.stderr)
        return 130
    return 0
