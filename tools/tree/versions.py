# SPDX-License-Identifier: GPL-2.0
"""Which groups go onto which version of Linux: configs/kernel.pin and configs/bases."""

import os
import re
from pathlib import Path

from tools import environment
from tools.command import Stop, say
from tools.environment import ROOT
from tools.tree.sources import read_lines


def version(path: Path) -> str:
    """Return the version of a kernel tree, VERSION.PATCHLEVEL.SUBLEVEL;
    raises Stop if it is none."""
    first = "\n".join(read_lines(path / "Makefile")[:6])
    numbers = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\S+)", first, re.M))
    if "PATCHLEVEL" not in numbers or not (path / "arch").is_dir():
        raise Stop(f"{path} is not a Linux source tree")
    return ".".join(numbers.values())


def base() -> str:
    """Return the VERSION.PATCHLEVEL of the base of development."""
    pin = Path(os.environ.get("PIN") or ROOT / "configs/kernel.pin").read_text()
    return str(re.findall(r"^version=(\d+\.\d+)", pin, re.M)[0])


def bases() -> dict[str, tuple[list[str], str]]:
    """Return the groups that go onto each VERSION.PATCHLEVEL, none for all, and a note;
    the base first."""
    lines = re.findall(r"^[^#\n].*", (ROOT / "configs/bases").read_text(), re.M)
    rows = ([word.strip() for word in line.split("|")] for line in lines)
    return {base(): ([], "")} | {name: (of.split(), note) for name, _, of, note in rows}


def base_of(path: Path) -> str:
    """Return the VERSION.PATCHLEVEL of a kernel tree; raises Stop if it is none."""
    return ".".join(version(path).split(".")[:2])


def check_kernel(path: Path, known: dict[str, tuple[list[str], str]],
                 groups: list[str]) -> list[str]:
    """Return the groups for a kernel tree: those that are asked for, or all that its version takes;
    none for the whole series. Raise Stop unless it is a tree of a known version that takes them;
    FORCE=1: of any."""
    found = base_of(path)
    if os.environ.get("FORCE") == "1":
        return groups
    if found not in known:
        raise Stop(f"{path} is Linux {version(path)}, the series is for {', '.join(known)} "
                   "(FORCE=1 to try it all the same)")
    of, note = known[found]
    if of and (others := [name for name in groups if name not in (*of, "preparations")]):
        raise Stop(f"Linux {found} takes the groups {' '.join(of)}, not {others[0]} "
                   "(FORCE=1 to try it all the same)")
    if note:
        say(f"Linux {found}: {note}")
    return groups or of


def patches_for(path: Path) -> Path:
    """Return the directory of the patches for a kernel tree: QUEUE=, that of its version,
    or patches/."""
    own = ROOT / "configs/bases.d" / (base_of(path) if (path / "Makefile").is_file() else "")
    given = environment.is_given("QUEUE")
    return own if not given and (own / "series").is_file() else environment.patches()
