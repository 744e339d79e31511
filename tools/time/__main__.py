# SPDX-License-Identifier: GPL-2.0
"""Times programs on the kernel that runs, patched or not, and compares two such files.

  tools/run tools.time                  make time [GROUP= ROUNDS= DIR=]: RESULTS/time-RELEASE.json
  tools/run tools.time --compare A B    make time-compare A= B=

DIR is a directory on a disk, for programs that write. Nothing of a host's name is written.
Exit status: 0 done, 2 bad input or a busy machine, 130 interrupted.
"""
import datetime
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

from tools import environment, groups
from tools.figures import store
from tools.figures.machine import machine
from tools.time.compare import read, table
from tools.time.kernel import running
from tools.time.measure import measure

ROUNDS = 21
IDLE = 0.5  # load average for a CPU


def disk() -> Path | None:
    """Return DIR=, None without it; raises ValueError for what is not a directory on a disk."""
    if not (name := os.environ.get("DIR")):
        return None
    kind = subprocess.run(["stat", "-f", "-c", "%T", name], capture_output=True, text=True)
    if kind.returncode or not Path(name).is_dir():
        raise ValueError(f"DIR={name}: not a directory")
    if kind.stdout.strip() in ("tmpfs", "ramfs", "overlayfs"):
        raise ValueError(f"DIR={name} is on {kind.stdout.strip()}, not on a disk")
    return Path(name).resolve()


def rounds() -> int:
    """Return ROUNDS=, by default 21; raises ValueError for too few."""
    text = os.environ.get("ROUNDS") or str(ROUNDS)
    if not text.isdigit() or int(text) < 5:
        raise ValueError(f"ROUNDS={text}: 5 or more")
    return int(text)


def time() -> None:
    """Time the programs of GROUP= or of all groups, and write the file. Raises ValueError, OSError.
    """
    where, number, series = disk(), rounds(), groups.series()
    names = groups.chosen(series)
    if (load := os.getloadavg()[0]) > IDLE * (os.cpu_count() or 1):
        raise ValueError(f"the load average is {load:.2f}: wait until the machine is idle")
    about = {"machine": machine(), "kernel": running(series.patches), "rounds": number,
             "date": datetime.date.today().isoformat()}
    found = measure(names, number, where)
    results, stem = environment.results(), f"time-{about['kernel']['release']}"
    path = next(path for n in itertools.count(1) if not (
        path := results / f"{stem}{f'.{n}' if n > 1 else ''}.json").exists())
    store.write_whole(path, json.dumps({**about, **found}, indent=1) + "\n")
    for name, row in found["rows"].items():
        print(f"{name}: {row['median']:g} ({row['low']:g}..{row['high']:g}) {row['unit']}")
    for name, why in found["skipped"].items():
        print(f"{name}: left out: {why}")
    print(f"time: {path}")


def main(words: list[str]) -> int:
    """Do what the words say; return the exit status."""
    try:
        if words[:1] == ["--compare"]:
            print(table(*(read(Path(word)) for word in words[1:])))
        else:
            time()
    except (OSError, ValueError) as error:
        print(f"time: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ntime: interrupted; nothing is written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
