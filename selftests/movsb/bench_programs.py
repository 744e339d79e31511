# SPDX-License-Identifier: GPL-2.0
"""Times programs that read a file of 256 MiB from the page cache, on the kernel that runs, with
large malloc() blocks 16 bytes above a page, where glibc has them, and 64 (shim.c): the distance of
user copies is what changes, and on Zen 3 it is slow at 16. And counts at which distances each
copies, as it is (distances.c).

`make bench GROUP=movsb` makes Documentation/results/movsb/bench_programs.csv, in milliseconds, and
in the block of bench_programs.json the copied bytes: in all, at 1 to 15, at 16, at 17 to 31. On a
kernel without the series it is an upper bound of what the series saves. A program that is not
installed is left out, and so is one that has no large block of malloc().
"""
from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tools.figures.cells import Block, Cell
from tools.figures.measure import BenchError, command, summary

HERE = Path(__file__).resolve().parent
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
# A row: the program, its words; FILE is the file, DIR a directory for its output, CXX the reader
ROWS = {
    "perl, sysread()": ("perl", "-e",
                        'open F, "<", shift; while (sysread(F, $b, 262144)) {}', "FILE"),
    "python, readinto()": ("python3", "-S", "-c",
                           "import sys\nf = open(sys.argv[1], 'rb', buffering=0)\n"
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
    """Run a program; return CPU time of it and its children, and elapsed time, in ms. Raises
    BenchError."""
    env = os.environ | {"LD_PRELOAD": str(shim), "SHIM_OFFSET": str(offset),
                        "SHIM_COUNT": str(count)}
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
    done = subprocess.run([tracer, result, *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
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


def run(_tree: Path, rounds: int) -> Block:
    """Measure; return what is the block's own. Raises BenchError."""
    cells: list[Cell] = []
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
            cells += [Cell(measure=measure, program=row, copy=str(offset), **summary(values))
                      for offset, pairs in timed.items()
                      for measure, values in zip(("cpu", "elapsed"), zip(*pairs))]
            print(f"programs: {row}: {rounds} rounds", flush=True)
    return {"unit": "milliseconds", "cells": cells, "blocks": blocks, "distances": distances,
            "missing": missing}
