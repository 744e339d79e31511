#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Counts what each option of user copies costs of text on an x86_64 defconfig:
Documentation/results/usercopy/text.rst.

The kernel without the options is built whole, in build/out/text (half an hour on two cores); with
an option only the objects that it can change: those that copy from or to user memory, and those
with the option's own code.

`make text` runs it; BUILD=, KDIR=, CC= and JOBS= as for make.

Exit status: 0 done, 1 a build failed or the result cannot be published, 130 interrupted.
"""
from __future__ import annotations

import datetime
import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.results import store
from tools.results.store import ROOT, Table

FILES = ("selftests/usercopy/text.py",)
CONFIGURATION = "x86_64_defconfig"
# Each option with the objects of its own
OPTIONS = {
    "X86_MOVSB_DISTANCE": ["arch/x86/lib/copy_user_unrolled_64.o"],
    "X86_USERCOPY_VARIANTS": ["arch/x86/lib/copy_user_unrolled_64.o",
                              "arch/x86/lib/copy_user_string_64.o",
                              "arch/x86/lib/usercopy_variant.o"],
    "X86_USERCOPY_CONST": []}
# Copies are calls, or in place with a site that alternatives are applied to
COPIES = re.compile(r" U (_copy_from_user|_copy_to_user|rep_movs_alternative)$", re.M)
ALSO = ("arch/x86/kernel/cpu/common.o",)
SECTIONS = {"instructions": r"\.(text|noinstr|sched|cpuidle|init\.text|exit\.text|entry)",
            "exception table": r"__ex_table", "alternatives, freed after boot": r"\.altinst"}
FUNCTIONS = 8
DISK_MIB = 3000


class TextError(RuntimeError):
    """Says in one line why nothing was counted."""


def run(*words: str | Path, where: Path | None = None) -> str:
    """Run a tool in a directory and return what it prints; raises TextError."""
    done = subprocess.run([str(word) for word in words], cwd=where, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise TextError(f"{Path(str(words[0])).name}: {last}")
    return done.stdout


def build(tree: Path, out: Path, option: str, targets: list[str]) -> None:
    """Build targets of a defconfig, with an option unless it is "".

    Raises TextError, also when Kconfig drops the option.
    """
    out.mkdir(parents=True, exist_ok=True)
    make = ["make", "-s", "-C", tree, f"O={out}", f"CC={os.environ.get('CC') or 'ccache gcc'}",
            f"-j{os.environ.get('JOBS') or os.cpu_count()}"]
    run(*make, CONFIGURATION)
    if option:
        run(tree / "scripts/config", "--file", out / ".config", "-e", option)
    run(*make, "olddefconfig")
    if option and f"CONFIG_{option}=y" not in (out / ".config").read_text().splitlines():
        raise TextError(f"Kconfig did not take {option}")
    run(*make, *targets)


def copying(off: Path) -> list[str]:
    """Return the objects of a built kernel that an option can change, sorted."""
    found = {name for name in run("ar", "t", "vmlinux.a", where=off).split() if COPIES.search(
        subprocess.run(["nm", name], cwd=off, capture_output=True, text=True, check=False).stdout)}
    return sorted({*found, *ALSO})


def size(sections: str, file: Path) -> int:
    """Return the bytes of a file's sections whose names begin so."""
    rows = (line.split() for line in run("size", "-A", "-d", file).splitlines())
    return sum(int(row[1]) for row in rows if len(row) == 3 and re.match(sections, row[0]))


def cost(tree: Path, off: Path, on: Path, objects: list[str], added: list[str]) -> dict[str, Any]:
    """Return an option's cell: by how much sections grow, their size in vmlinux, largest changes.

    off, on: build directories without and with it; added: objects that only it has.
    """
    without, with_option = Path(f"{on}-off.o"), Path(f"{on}-on.o")
    run("ld", "-r", "-z", "noexecstack", "-o", without, *objects, where=off)
    run("ld", "-r", "-z", "noexecstack", "-o", with_option, *objects, *added, where=on)
    grown = {what: [size(names, with_option) - size(names, without), size(names, off / "vmlinux")]
             for what, names in SECTIONS.items()}
    lines = run(tree / "scripts/bloat-o-meter", "-t", without, with_option).splitlines()
    return {"objects": len(objects) + len(added), **grown, "bloat-o-meter": lines[:2 + FUNCTIONS]}


def page(table: Table) -> str:
    """Return the page of the table, without its head."""
    kernel = table["kernel"]
    lines = [f"{table['command']}: x86_64 defconfig, Linux {kernel['release']}, "
             f"{kernel['compiler']}; counted"]
    for option, cell in table["cells"].items():
        lines += ["", f"{option}=y, of {cell['objects']} objects"]
        lines += [f"{what}: {more:+d} bytes, {100 * more / whole:+.3f} % of vmlinux's {whole}"
                  for what, (more, whole) in ((what, cell[what]) for what in SECTIONS)]
        lines += ["bloat-o-meter -t:", *(f"  {line}" for line in cell["bloat-o-meter"])]
    return "::\n\n" + "".join(f"   {line}".rstrip() + "\n" for line in lines)


def count(tree: Path, build_directory: Path) -> Table:
    """Build and count; return the table.

    Raises OSError, TextError, and ValueError for what cannot be published.
    """
    depends = store.ready("usercopy", FILES, tree)
    free = shutil.disk_usage(build_directory).free >> 20
    if free < DISK_MIB:
        raise TextError(f"{DISK_MIB} MiB of disk are needed in {build_directory}, {free} are free")
    os.environ.update(CCACHE_BASEDIR=str(build_directory), CCACHE_NOHASHDIR="1")
    off, cells = build_directory / "out/text", {}
    build(tree, off, "", ["vmlinux"])
    objects = copying(off)
    for option, added in OPTIONS.items():
        on = build_directory / f"out/text-{option.lower()}"
        build(tree, on, option, [*objects, *added])
        cells[option] = cost(tree, off, on, objects, added)
    store.unchanged("usercopy", depends)
    configuration = store.digest((off / ".config").read_bytes())
    return {"kind": "counted", "series": store.series_hash(store.queue_of_today()),
            "configuration": {"name": CONFIGURATION, "hash": configuration},
            "kernel": {"release": (off / "include/config/kernel.release").read_text().strip(),
                       "compiler": run("gcc", "--version").splitlines()[0]},
            "command": "make text", "date": datetime.date.today().isoformat(), "depends": depends,
            "cells": cells}


def main() -> int:
    """Count and publish; return the exit status."""
    directory = Path(os.environ.get("BUILD") or ROOT / "build").resolve()
    tree = Path(os.environ.get("KDIR") or directory / "linux").resolve()
    try:
        with (directory / ".lock-text").open("w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            store.publish("usercopy", "text", count(tree, directory))
        return 0
    except BlockingIOError:
        print(f"text: another run works in {directory}", file=sys.stderr)
    except (OSError, TextError, ValueError) as error:
        print(f"text: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("text: interrupted; the old table is kept", file=sys.stderr)
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main())
