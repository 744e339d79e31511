# SPDX-License-Identifier: GPL-2.0
"""Times programs that read a file of 256 MiB from the page cache, on the kernel that runs, with large
malloc() blocks 16 bytes above a page, where glibc has them, and 64 (shim.c): the distance of user
copies is what changes, and on Zen 3 it is slow at 16. And counts at which distances each copies, as
it is (distances.c).

`make bench GROUP=movsb` makes Documentation/results/movsb/bench_programs.rst. On a kernel without the
series it is an upper bound of what the series saves. A program that is not installed is left out, and
so is one that has no large block of malloc().
"""
from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from selftests.movsb.site import last_distance
from tools.bench.measure import BenchError, Measured, command, machine_words, page_of, summary
from tools.results.store import Table

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("shim.c", "distances.c", "site.py")
MIB = 256
OFFSETS = (16, 64)
CXX = """#include <fstream>
#include <vector>
int main(int, char **argv)
{
	std::ifstream in(argv[1], std::ios::binary | std::ios::ate);
	std::vector<char> all(in.tellg());
	in.seekg(0);
	return !in.read(all.data(), all.size());
}
"""
# A row: the program, its words; FILE is the file, DIR a directory for its output, CXX the reader above
ROWS = {
    "perl, sysread()": ("perl", "-e", 'open F, "<", shift; while (sysread(F, $b, 262144)) {}', "FILE"),
    "python, readinto()": ("python3", "-S", "-c", "import sys\nf = open(sys.argv[1], 'rb', buffering=0)\n"
                           "b = bytearray(1 << 18)\nwhile f.readinto(b): pass", "FILE"),
    "node, readFileSync()": ("node", "-e", 'require("fs").readFileSync(process.argv[1])', "FILE"),
    "ruby, File.binread": ("ruby", "-e", "File.binread(ARGV[0])", "FILE"),
    "C++, ifstream.read()": ("CXX", "FILE"),
    "rsync --whole-file": ("rsync", "--whole-file", "--ignore-times", "FILE", "DIR/copy"),
    "zstd -1": ("zstd", "-q", "-1", "-c", "FILE"),
    "lz4": ("lz4", "-q", "-c", "FILE"),
    "file": ("file", "FILE"),
    "sha256sum (control)": ("sha256sum", "FILE"),
    "md5sum (control)": ("md5sum", "FILE"),
}
CONTROL = "(control)"


def once(words: list[str], offset: int, shim: Path, count: Path) -> tuple[float, float]:
    """Run a program; return CPU time of it and its children, and elapsed time, in ms. Raises BenchError."""
    env = os.environ | {"LD_PRELOAD": str(shim), "SHIM_OFFSET": str(offset), "SHIM_COUNT": str(count)}
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    elapsed, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise BenchError(f"{words[0]}: {done.stderr.decode(errors='replace').strip()[-200:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * used, 1000 * elapsed


def traced(words: list[str], tracer: Path, result: Path) -> list[int]:
    """Return what distances.c counts of a program; raises BenchError."""
    done = subprocess.run([tracer, result, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise BenchError(f"distances: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return [int(word) for word in result.read_text(encoding="ascii").split()]


def build(directory: Path) -> tuple[Path, Path, Path]:
    """Compile shim and tracer, and the C++ reader if there is a compiler; raises BenchError."""
    shim, tracer, reader = directory / "shim.so", directory / "distances", directory / "reader"
    flags = ("-O2", "-Wall", "-Wextra", "-Werror")
    command("gcc", *flags, "-shared", "-fPIC", "-fno-builtin", "-o", shim, HERE / "shim.c")
    command("gcc", *flags, "-o", tracer, HERE / "distances.c")
    if shutil.which("g++"):
        (directory / "reader.cc").write_text(CXX)
        command("g++", "-O2", "-o", reader, directory / "reader.cc")
    return shim, tracer, reader


def run(_tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own. Raises BenchError."""
    cells: dict[str, Measured] = {"cpu": defaultdict(dict), "elapsed": defaultdict(dict)}
    missing, blocks, distances = [], {}, {}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        shim, tracer, reader = build(directory)
        file, count = directory / "file", directory / "count"
        with file.open("wb") as out:
            for _ in range(MIB):
                out.write(os.urandom(1 << 20))
        put = {"FILE": str(file), "DIR/copy": f"{directory}/copy", "CXX": str(reader)}
        for row, given in ROWS.items():
            words = [put.get(word, word) for word in given]
            if not shutil.which(words[0]):
                missing.append(given[0].replace("CXX", "g++"))
                continue
            count.unlink(missing_ok=True)
            for offset in OFFSETS:  # to warm up, and to see whether it has a large block
                once(words, offset, shim, count)
            blocks[row] = count.stat().st_size // len(OFFSETS) if count.exists() else 0
            if not blocks[row] and CONTROL not in row:
                missing.append(f"{row} has no large block")
                continue
            distances[row] = traced(words, tracer, directory / "distances.txt")
            timed = {offset: [] for offset in OFFSETS}
            for _ in range(rounds):
                for offset in OFFSETS:
                    timed[offset].append(once(words, offset, shim, count))
            for at, kind in enumerate(cells):
                cells[kind][row] = {str(offset): summary([pair[at] for pair in pairs])
                                    for offset, pairs in timed.items()}
            print(f"programs: {row}: {rounds} rounds", flush=True)
    return {"unit": "milliseconds", "cells": cells, "blocks": blocks, "distances": distances, "missing": missing}


def part(result: dict[str, Any]) -> str:
    """Return the part of the page that is made of a block."""
    lines = [".. csv-table:: Milliseconds, median (quartiles), with large malloc() blocks 16 and 64 bytes above a page",
             '   :header: program, "CPU, 16", "CPU, 64", less, "elapsed, 16", "elapsed, 64", less, large blocks', ""]
    for row in result["measures"]["cpu"]:
        figures = []
        for kind in ("cpu", "elapsed"):
            pair = [result["measures"][kind][row][str(offset)] for offset in OFFSETS]
            figures += ['"{median:.1f} ({low:.1f}..{high:.1f})"'.format(**one) for one in pair]
            figures.append(f"{round(100 * (1 - pair[1]['median'] / pair[0]['median']))} %")
        lines.append(f'   "{row}", {", ".join(figures)}, {result["blocks"].get(row, 0)}')
    who = [".. csv-table:: Bytes that are copied between files and memory, as the program is",
           '   :header: program, MiB, "% at 1 to 15", "% at 16", "% at 17 to 31"', ""]
    for row, (_, total, *parts) in result["distances"].items():
        shares = ", ".join(f"{100 * part / (total or 1):.1f}" for part in parts)
        who.append(f'   "{row}", {total / (1 << 20):.1f}, {shares}')
    slow = last_distance(result["machine"])
    slow_words = f"at 1 to {slow}" if slow else "at none"
    missing = f" Left out: {', '.join(result['missing'])}." if result["missing"] else ""
    return "\n".join([
        f"Timed: {machine_words(result)}; ``{result['command']}``, {result['date']}; medians of "
        f"{result['rounds']} rounds, in which the two take turns; a file of {MIB} MiB in the page cache. On this "
        f"CPU 'rep movsb' is slow {slow_words}. On a kernel without the series the difference is an upper "
        f"bound of what it saves.{missing}", "", *lines, "", *who, ""])


def page(found: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(found, part)
