# SPDX-License-Identifier: GPL-2.0
"""What the benchmarks share: building the tree's routines, running a program, the machine."""

import argparse
import datetime
import hashlib
import json
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LOOPS = "tools/testing/selftests/x86/copyloops"
ROUNDS = 21


class BenchError(Exception):
    """Says in one line why there is no result."""


def command(*words: str | Path) -> str:
    """Run a command and return what it prints; raises BenchError."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{Path(str(words[0])).name}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return done.stdout


def summary(values: list[float]) -> dict[str, float]:
    """Return median and quartiles, in cycles."""
    low, median, high = statistics.quantiles(values, n=4)
    return {"median": round(median, 2), "low": round(low, 2), "high": round(high, 2)}


def cpu() -> dict[str, str]:
    """Return the machine: name, family, model, caches, and the flags that choose a copy."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = {key: match[1] for key in ("model name", "cpu family", "model", "flags")
             if (match := re.search(rf"^{key}\s*: (.*)$", info, re.M))}
    flags = set(found.pop("flags", "").split())
    caches = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size, shared = ((index / name).read_text().strip()
                                     for name in ("level", "type", "size", "shared_cpu_list"))
        caches.append(f"L{level} {kind.lower()} {size}, CPUs {shared}")
    return {**found, "copy flags": " ".join(sorted(flags & {"fsrm", "erms", "hypervisor"})), "caches": "; ".join(caches)}


def provenance(rounds: int) -> dict[str, Any]:
    """Return what a result of today has to say of itself. rounds: how often each copy had its turn."""
    series = hashlib.sha256(b"".join(path.read_bytes() for path in sorted((ROOT / "patches").glob("*.patch")))).hexdigest()
    return {"kind": "timed", "unit": "cycles of the time-stamp counter", "cpu": cpu(), "rounds": rounds,
            "series": series[:16], "compiler": command("gcc", "--version").splitlines()[0],
            "command": f"make bench ROUNDS={rounds}", "date": datetime.date.today().isoformat()}


def assemble(tree: Path, directory: Path, sources: tuple[tuple[str, str, list[str]], ...]) -> list[Path]:
    """Assemble routines of a kernel tree, unchanged, with the stub headers of its kselftest x86/copyloops.

    sources: file below arch/x86/lib, name of the object, more options of the assembler. Returns the objects; raises
    BenchError.
    """
    lib, flags = tree / "arch/x86/lib", ["-m64", "-D__ASSEMBLY__", f"-I{tree / LOOPS / 'include'}", "-Wa,--noexecstack", "-c"]
    objects = []
    for source, name, more in sources:
        if not (lib / source).is_file() or not (tree / LOOPS).is_dir():
            raise BenchError(f"{tree} is no kernel tree with the series: run make apply")
        objects.append(directory / name)
        command("gcc", *flags, *more, "-o", objects[-1], lib / source)
    return objects


def samples(program: Path, measure: str | Path, rounds: int, by: tuple[str, str] = ("bytes", "copy"),
            ) -> dict[str, dict[str, dict[str, float]]]:
    """Run a measure of a program that prints a line of JSON for each sample; return summaries.

    measure: its name, or a file that says it; by: the keys of a sample that summaries are kept under.
    """
    found: dict[int | str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in command(program, measure, str(rounds)).splitlines():
        row = json.loads(line)
        found[row[by[0]]][row[by[1]]].append(row["cycles"])
    print(f"{program.name}: {Path(measure).name}: {rounds} rounds", flush=True)
    return {str(size): {name: summary(values) for name, values in copies.items()} for size, copies in found.items()}


def keep(result: dict[str, Any], where: Path) -> None:
    """Write a result, as one line for each level of its keys."""
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def machine(result: dict[str, Any]) -> str:
    """Return the CPU of a result and what it was measured with, in words."""
    of = result["cpu"]
    return (f"{of.get('model name', 'unknown CPU')}, family {of.get('cpu family')}, model {of.get('model')} "
            f"({of['caches']}; {of['copy flags']}), {result['compiler']}")


def main(doc: str, run: Callable[[Path, int], None], tables: Callable[[], None], needs_tree: bool = True) -> int:
    """Do what the command line says, for a benchmark; return the exit status.

    doc: of the script; run: measures with a tree, so many rounds, and keeps the result; tables: makes the page of it;
    needs_tree: false if run makes no use of a tree and gets the current directory when none is given.
    """
    name = Path(sys.argv[0]).name
    parser = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("run", "tables"))
    parser.add_argument("--tree", type=Path, help="kernel tree with the series applied")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"at least 15 (default: {ROUNDS})")
    args = parser.parse_args()
    if args.what == "run" and (args.rounds < 15 or (needs_tree and args.tree is None)):
        parser.error(f"run needs {'--tree, and ' if needs_tree else ''}at least 15 rounds")
    try:
        if args.what == "run":
            run(args.tree or Path(), args.rounds)
        tables()
    except (BenchError, OSError, ValueError, KeyError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted; the old result is kept", file=sys.stderr)
        return 130
    return 0
