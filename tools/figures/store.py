# SPDX-License-Identifier: GPL-2.0
"""Published tables: the files Documentation/results/GROUP/TABLE.json, with the rows of a timed one
in TABLE.csv, and whether they are of today's files.

A table has its provenance once, a modelled one a line for each cell. "kind" is timed or modelled. A
timed table has a list "blocks", one for each CPU model, each with a provenance and rows of its own.
"depends" is the hash of each file that a table or a block depends on, and that of the patches of
its group.
"""
import functools
import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tools import environment
from tools.environment import ROOT
from tools.figures import cells
from tools.figures.machine import SAME_MODEL, cpu, model_words
from tools.series import Series, load_series

PUBLISHED = ROOT / "Documentation/results"
# Keys whose value has a line for each of its entries
OPENED = {"blocks", "cells", "depends", "modelled", "runs"}
PATCHES = "patches of "
# Paths of a patch that no table depends on; benchmarks are built from those of BUILT
UNBUILT = ("Documentation/", "MAINTAINERS", "tools/perf/", "tools/testing/")
BUILT = "tools/testing/selftests/x86/"

Table = dict[str, Any]


def text_of(value: Any, opened: bool = True, indent: str = "") -> str:
    """Return a value as JSON, a line for each of its entries if opened or below a key in OPENED."""
    if not opened or not value or not isinstance(value, (dict, list)):
        return json.dumps(value)
    inner = indent + " "
    if isinstance(value, list):
        begin, lines, end = "[", [text_of(entry, True, inner) for entry in value], "]"
    else:
        begin, end = "{", "}"
        lines = [f"{json.dumps(key)}: {text_of(entry, key in OPENED, inner)}"
                 for key, entry in value.items()]
    return f"{begin}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{end}"


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all, and its directory; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(f"{path}.part")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)


def file_of(group: str, name: str) -> Path:
    """Return the file of a group's table: name is that of the program that makes it."""
    return PUBLISHED / group / f"{name}.json"


def read(group: str, name: str) -> Table:
    """Return a group's table; raises OSError, and ValueError for a file that is none."""
    return load(file_of(group, name))


def load(path: Path) -> Table:
    """Return the table of a file below PUBLISHED; raises as read()."""
    table = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(table, dict) or table.get("kind") not in ("timed", "modelled"):
        raise ValueError(f"{path.relative_to(PUBLISHED)} is no table")
    if table["kind"] == "timed":
        text = path.with_suffix(".csv").read_text(encoding="utf-8")
        table["blocks"] = cells.with_cells(table["blocks"], text)
    return table


def texts_of(table: Table) -> dict[str, str]:
    """Return the text of each file of a table by its suffix."""
    if table["kind"] != "timed":
        return {".json": text_of(table) + "\n"}
    about = [{key: value for key, value in block.items() if key != "cells"}
             for block in table["blocks"]]
    return {".json": text_of({**table, "blocks": about}) + "\n",
            ".csv": cells.csv_of(table["blocks"])}


def publish(group: str, name: str, table: Table) -> None:
    """Write a group's table; raises OSError."""
    for suffix, text in texts_of(table).items():
        write_whole(file_of(group, name).with_suffix(suffix), text)


def digest(data: bytes) -> str:
    """Return the hash that results name."""
    return hashlib.sha256(data).hexdigest()[:16]


def group_hash(series: Series, group: str) -> str:
    """Return the hash of a group's paths and lines in order, without documents, kselftests and
    where the hunks are: a hunk that another patch moved is the same."""
    files = [file for of in series.groups if of.name == group
             for patch in of.patches for file in patch.files
             if file.path.startswith(BUILT) or not file.path.startswith(UNBUILT)]
    return digest(repr([(file.path, file.hunks) for file in files]).encode())


@functools.cache
def series_of_today() -> Series:
    """Return the repository's series, read once."""
    return load_series(ROOT)


def hash_of(name: str) -> str:
    """Return the hash of what a table depends on, "" if that is gone.

    name: a file or a directory (with all its files) below the repository, or "patches of GROUP".
    """
    if name.startswith(PATCHES):
        return group_hash(series_of_today(), name.removeprefix(PATCHES))
    path = ROOT / name
    if path.is_file():
        return digest(path.read_bytes())
    files = sorted(file for file in path.rglob("*") if file.is_file()
                   and "__pycache__" not in file.parts)
    rows = [f"{file.relative_to(path)}\0{digest(file.read_bytes())}\0" for file in files]
    return digest("".join(rows).encode()) if rows else ""


def depends(group: str, files: Iterable[str]) -> dict[str, str]:
    """Return the hash of each file, and of the group's patches; raises ValueError for no file."""
    found = {name: hash_of(name) for name in (*files, PATCHES + group)}
    if gone := [name for name, value in found.items() if not value]:
        raise ValueError(f"no file {' '.join(gone)}")
    return found


def edited(tree: Path) -> list[str]:
    """Return the patched files of a tree that were edited; raises ValueError for no pushed tree."""
    done = subprocess.run([environment.ROOT / "tools/run", "tools.tree.apply", "edited"],
                          capture_output=True, text=True,
                          env=os.environ | {"KDIR": str(tree)}, check=False)
    if done.returncode:
        raise ValueError(done.stderr.strip().removeprefix("edited: error: "))
    return done.stdout.splitlines()


def refusal(files: Iterable[str], tree: Path) -> str:
    """Return why no result of these files and of a kernel tree is published; "" if one can be.

    It is one line. Raises ValueError as edited().
    """
    command = ["git", "-C", str(ROOT), "status", "--porcelain", "--", *files, "patches", "series"]
    status = subprocess.run(command, capture_output=True, text=True, check=False)
    if status.returncode:
        return f"not published: git status: {status.stderr.strip()}"
    changed, where = [line[3:] for line in status.stdout.splitlines()], "the repository"
    if not changed:
        changed, where = edited(tree), str(tree)
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    what = f"not published: {where} has changes that are in no commit or patch"
    return f"{what}: {changed[0]}{more}" if changed else ""


def ready(group: str, files: Iterable[str], tree: Path) -> dict[str, str]:
    """Return depends() of a table that is about to be made; raises ValueError when none can be."""
    if why := refusal(files, tree):
        raise ValueError(why)
    return depends(group, files)


def unchanged(group: str, before: dict[str, str]) -> None:
    """Raise ValueError when files that a table depends on were changed while it was made."""
    if depends(group, [name for name in before if name != PATCHES + group]) != before:
        raise ValueError("not published: files that the table depends on were changed meanwhile")


def changes(about: Table) -> str:
    """Return what a table, or a block of one, depends on and is not as it was; "" if nothing is."""
    if not about.get("depends"):
        return "what it depends on was not recorded"
    return ", ".join(f"{name} {'changed' if hash_of(name) else 'is gone'}"
                     for name, value in about["depends"].items() if hash_of(name) != value)


def tables() -> Iterator[tuple[str, str, Table]]:
    """Return all published tables as group, name, table; raises as read()."""
    for path in sorted(PUBLISHED.glob("*/*.json")):
        yield path.parent.name, path.stem, read(path.parent.name, path.stem)


def stale(kinds: tuple[str, ...] = ("timed", "modelled")) -> list[str]:
    """Return a line for each table of these kinds, or file of a page that was counted once, that is
    not of today's files.

    A block of a CPU model that is not this machine's is listed with its series, and is no stale
    one. Raises as read().
    """
    found = []
    for path in sorted(PUBLISHED.rglob("*.json")):
        table, name = load(path), path.relative_to(PUBLISHED).with_suffix("")
        if table["kind"] not in kinds:
            continue
        for about in table.get("blocks", [table]):
            what = f"{name}, {table['kind']}"
            if table["kind"] == "timed":
                machine = about["machine"]
                what += f" on {model_words(machine)}"
                if any(machine.get(key) != value for key, value in cpu().items()
                       if key in SAME_MODEL):
                    found.append(f"{what}: of series {about['series']}")
                    continue
            if why := changes(about):
                found.append(f"stale: {what}, of series {about['series'] or 'not recorded'}: {why}")
    return found
