# SPDX-License-Identifier: GPL-2.0
"""Times the programs that the groups name (time.NAME of selftests/GROUP/group.toml) on the kernel
that runs: pinned to one CPU, in rounds in which each has its turn."""
import os
import re
import resource
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tools import environment, group_toml
from tools.figures.measure import command, summary
from tools.group_toml import TimeTable

MIB = 64    # of the file that programs read


def rows(groups: list[str]) -> dict[str, tuple[Path, TimeTable]]:
    """Return the programs of groups as GROUP/NAME: the group's folder, the row."""
    return {f"{path.parent.name}/{name}": (path.parent, row)
            for path, file in group_toml.read_all(groups).items()
            for name, row in file.time.items()}


def once(row: TimeTable, env: dict[str, str]) -> float:
    """Run a program once on the first CPU that is allowed, and return its figure, in its unit.

    Raises ValueError with the last line that it printed, when it fails or prints no figure.
    """
    def pin() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["sh", "-c", row.command], env=os.environ | env, text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, errors="replace",
                          stderr=subprocess.STDOUT, preexec_fn=pin)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = re.search(row.prints, done.stdout)
    if done.returncode or not found:
        last = (done.stdout.strip().splitlines() or ["no output"])[-1]
        raise ValueError(f"{row.command.split()[0]}: {last[:200]}")
    if row.prints:
        return float(found[1])
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def figures(values: list[float], unit: str) -> dict[str, str | float | int]:
    """Return what is kept of a program's figures."""
    return {"unit": unit, **summary(values), "n": len(values),
            "p99": round(statistics.quantiles(values, n=100, method="inclusive")[-1], 2)}


def prepared(folder: Path, row: TimeTable, scratch: Path, disk: Path | None
             ) -> Callable[[], float]:
    """Return what runs a program once, after it was built and has run; raises ValueError."""
    env = {"FILE": str(scratch / "file"), "DIR": str(disk or scratch)}
    if row.disk and not disk:
        raise ValueError("it writes: DIR= names a directory on a disk")
    if row.source:
        program = scratch / Path(row.source).stem
        command("gcc", "-O2", "-Wall", "-o", program, folder / row.source)
        env["PROGRAM"] = str(program)
    run = partial(once, row, env)
    run()
    return run


def measure(groups: list[str], rounds: int, disk: Path | None) -> dict[str, dict]:
    """Time the programs of groups; return figures and, of what cannot run here, why, by GROUP/NAME.

    rounds: how often each runs; disk: where the programs that write may do so. Raises OSError.
    """
    scratch = environment.build() / "time"
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "file").write_bytes(os.urandom(MIB << 20))
    runs, skipped, every = {}, {}, rows(groups)
    for name, (folder, row) in every.items():
        try:
            runs[name] = prepared(folder, row, scratch, disk)
        except (ValueError, OSError) as error:
            skipped[name] = str(error)
    values: dict[str, list[float]] = defaultdict(list)
    for turn in range(rounds):
        for name, run in runs.items():
            values[name].append(run())
        print(f"\rtime: round {turn + 1} of {rounds}", end="", flush=True)
    print()
    return {"rows": {name: figures(values[name], every[name][1].unit) for name in runs},
            "skipped": skipped}
