# SPDX-License-Identifier: GPL-2.0
"""Counts the published table of a group's selftests/GROUP/model.py and makes its page.

  tools/run tools.model.published GROUP
      builds the kernels and the model, boots for all runs, two at a time, but for those that were
      counted before with the same files and kernel, and makes the table and its page

Exit status: 0 done, 1 a boot failed or the result cannot be published, 2 usage, 130 interrupted.
"""
import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools import verdicts
from tools.model.build import BUILT, KERNEL, RESULTS, build
from tools.model.workload import GEOMETRY, ModelError
from tools.model.workloads import WORKLOADS
from tools.figures import store, tables
from tools.figures.store import ROOT, Table

HERE = Path(__file__).resolve().parent
# What all runs depend on, beside the workload's program
ENGINE = ("plugin", "modules", "tags.h", "emulator.py", "image.py")

Result = dict[str, Any]


@dataclass(frozen=True)
class Published:
    """The table of a group.

    group: its name; runs: the model's arguments by the run's name; kept: from a run's name and
    result what the page needs of each label; options: of the kernel, without CONFIG_; fragments: of
    its configuration, in configs/; kernel: its name in build/out; others: the fragments of further
    kernels by name; on: the runs that are made on one of those, with its name.
    """

    group: str
    runs: dict[str, list[str]]
    kept: Callable[[str, Result], dict[str, Any]]
    options: tuple[str, ...]
    fragments: tuple[str, ...] = ("small", "base", "all-on")
    kernel: str = "vm"
    others: dict[str, tuple[str, ...]] = field(default_factory=dict)
    on: dict[str, str] = field(default_factory=dict)

    def kernels(self) -> dict[str, tuple[str, ...]]:
        """Return the fragments of all kernels by name, the table's own first."""
        return {self.kernel: self.fragments, **self.others}

    def files(self) -> list[str]:
        """Return the files and directories that the table depends on, from the repository."""
        engine = str(HERE.relative_to(ROOT))
        programs = {WORKLOADS[arguments[0]].program for arguments in self.runs.values()}
        configs = {str(path.relative_to(ROOT))
                   for name in {*itertools.chain(*self.kernels().values()), "options"}
                   for where in ("configs", "selftests/*")
                   for path in ROOT.glob(f"{where}/{name}.config")}
        return [f"selftests/{self.group}/model.py", *sorted(programs),
                *(f"{engine}/{name}" for name in ENGINE), *sorted(configs)]

    def table_of(self, results: dict[str, Result], files: dict[str, str]) -> Table:
        """Return the table of all runs' results. files: the hashes of what it depends on.

        Raises ValueError unless the results are of one kernel and one QEMU, those of a workload of
        one geometry.
        """
        seen: Table = {}
        for name in self.runs:
            result = results[name]
            kernel = {key: value for key, value in result["kernel"].items() if key != "append"}
            about = {" ".join(("kernel", *filter(None, [self.on.get(name)]))): kernel,
                     **{key: result[key] for key in ("qemu", "cpu", "memory")},
                     f"geometry of {result['workload']}": result["geometry"]}
            for key, value in about.items():
                if seen.setdefault(key, value) != value:
                    raise ValueError(f"{name} has another {key}: {value}, not {seen[key]}")
        kernel = dict(seen["kernel"])
        return {
            "kind": "modelled", "series": kernel.pop("series"),
            "configuration": kernel.pop("configuration"), "kernel": kernel,
            **({"other kernels": {name: seen[f"kernel {name}"] for name in self.others}}
               if self.others else {}),
            **{key: seen[key] for key in ("qemu", "cpu", "memory")},
            "command": f"make model-tables GROUP={self.group}",
            "date": max(result["date"] for result in results.values()),
            "geometry": {result["workload"]: result["geometry"] for result in results.values()},
            "depends": files,
            "runs": {name: {**{key: results[name][key] for key in ("workload", "words", "command")},
                            "append": results[name]["kernel"]["append"]} for name in self.runs},
            "cells": {f"{name}/{label}": cell for name in self.runs
                      for label, cell in self.kept(name, results[name]).items()}}

    def count(self) -> int:
        """Boot for each run that was not counted with these files and this kernel, make the table;
        return the exit status.

        Raises OSError, and ValueError for a kernel or a repository of which no table is published.
        """
        kernels = {name: KERNEL.with_name(name) for name in self.kernels()}
        kernel = kernels[self.kernel]
        lines = (kernel / ".config").read_text(encoding="utf-8").splitlines()
        for option in self.options:
            if f"CONFIG_{option}=y" not in lines:
                raise ValueError(f"{kernel} has no CONFIG_{option}")
        files = store.ready(self.group, self.files(), (kernel / "source").resolve())
        images = {name: store.digest((path / "arch/x86/boot/bzImage").read_bytes())
                  for name, path in kernels.items()}
        code = verdicts.contents(HERE, "__main__.py", "fields.py", "result.py", "symbols.py")
        qemu, program = verdicts.version("qemu-system-x86_64"), verdicts.content(BUILT / "init")
        counted, number = verdicts.Verdicts("model"), itertools.count(1)

        def one(name: str) -> Result | None:
            booted = self.on.get(name, self.kernel)
            key = verdicts.key(files=files, code=code, qemu=qemu, program=program,
                             image=images[booted], options=self.runs[name], geometry=GEOMETRY,
                             workload=repr(WORKLOADS[self.runs[name][0]]))
            run, how = f"{self.group}-{name}", "was counted before"
            result: Result | None = counted.lookup(key)
            if result is None:
                done = model([*self.runs[name], "--name", run, "--kernel", booted])
                if done.returncode:
                    last = (done.stderr or done.stdout).strip().split("\n")[-1]
                    print(f"{self.group}: {name}: {last}", file=sys.stderr)
                    return None
                result = dict(json.loads((RESULTS / f"{run}.json").read_text(encoding="utf-8")))
                counted.store(key, result)
                how = f"{result['seconds']:.0f} s"
            print(f"{self.group}: {next(number)}/{len(self.runs)} {name}: {how}", flush=True)
            return result

        with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
            results = {name: result for name, result in zip(self.runs, pool.map(one, self.runs))
                       if result is not None}
        if len(results) < len(self.runs):
            return 1
        store.unchanged(self.group, files)
        store.publish(self.group, "model", self.table_of(results, files))
        return 0


def model(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the model with a command line of its own, nothing of make's; return its end, whatever
    that is."""
    return subprocess.run([sys.executable, "-m", "tools.model", *arguments], cwd=ROOT,
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def groups() -> dict[str, Published]:
    """Return the tables of all groups that have one, by the group's name."""
    return {table.group: table.published for table in tables.modelled()}


def published_of(group: str) -> Published:
    """Return the table of a group; raises ValueError when it has none."""
    if group not in (known := groups()):
        raise ValueError(f"GROUP={group} has no table of the model; {' '.join(known)} have one")
    return known[group]


def result_of(table: Table, run: str) -> Result:
    """Return a run as tables.py reads a result, with what is kept of its labels."""
    about = table["runs"][run]
    labels = {cell.removeprefix(f"{run}/"): value for cell, value in table["cells"].items()
              if cell.startswith(f"{run}/")}
    return {**about, "qemu": table["qemu"], "cpu": table["cpu"],
            "geometry": table["geometry"][about["workload"]],
            "kernel": {**table["kernel"], "series": table["series"],
                       "configuration": table["configuration"],
                       "append": about["append"]}, "labels": labels}


def spread(values: list[float]) -> str:
    """Return median (least..most) of some runs."""
    return f"{statistics.median(values):.1f} ({min(values):.1f}..{max(values):.1f})"


def literal(text: str) -> str:
    """Return text as a literal block."""
    return f"::\n\n{textwrap.indent(text, '   ')}\n"


def wrapped(text: str) -> str:
    """Return text in lines of at most 100 characters."""
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def main() -> int:
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("group")
    group = parser.parse_args().group
    try:
        table = published_of(group)
        for kernel, fragments in table.kernels().items():
            if subprocess.run([ROOT / "tools/kernel.sh", kernel, *fragments], close_fds=False,
                              stdin=subprocess.DEVNULL, check=False).returncode:
                return 1
            build(KERNEL.with_name(kernel).resolve())
        if code := table.count():
            return code
        tables.find(group, "model").write_page()
        return 0
    except (ModelError, OSError, ValueError) as error:
        print(f"model: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("model: interrupted; what was counted is kept", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
