# SPDX-License-Identifier: GPL-2.0
"""Series of a few small patches, for tests."""

from __future__ import annotations

import difflib
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tools.series import GATE, Series, file_name, load_series
from tools.tree.sources import Sources

PREPARATIONS = "preparations"
MAKEFILE = "VERSION = {}\nPATCHLEVEL = {}\nSUBLEVEL = {}\n"
HEADER = """From: Ann Example <ann@example.org>
Date: Mon, 2 Nov 2026 10:00:00 +0000
Subject: [PATCH] {}

A counter starts at zero, which nobody wants.

---
Patch-mainline: not yet, for review
Test: none
"""
LINES = "".join(f"line {number}\n" for number in range(1, 41))


def write_files(where: Path, files: dict[str, str]) -> Path:
    """Write texts by path below a directory, which is returned."""
    for name, text in files.items():
        target = where / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return where


@dataclass
class Builder:
    """Builds a series and its base tree below root; tree is the files after the last patch."""

    root: Path
    tree: dict[str, str] = field(default_factory=lambda: {"lib/a.c": LINES})
    series: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.base = self.root / "base"
        self.repo = self.root / "repo"
        self.patches = self.repo / "patches"
        self.patches.mkdir(parents=True)
        self.tree.setdefault("Makefile", MAKEFILE.format(7, 3, 4))
        self.tree.setdefault("scripts/checkpatch.pl", "#\n")
        write_files(self.base, self.tree)
        (self.patches / "series").symlink_to("../series")
        (self.repo / "tools").mkdir()
        shutil.copy(Path(__file__).resolve().parents[2] / "tools/quiltrc", self.repo / "tools")
        self.group(PREPARATIONS)

    @property
    def sources(self) -> Sources:
        """The base tree, as the checks want it."""
        return Sources(self.base)

    def group(self, name: str, *needs: str) -> Builder:
        """Begin a group with lines of needs; the gate goes before the first but preparations."""
        if name != PREPARATIONS and GATE not in self.series:
            self.series.append(GATE)
        self.series.append(f"# --- group {name}: an example ---")
        self.series += [f"# needs: {need}" for need in needs]
        return self

    def patch(self, subject: str) -> Builder:
        """Add a patch of one line; subject is 'subsys: Imperative'."""
        return self.line(subject, 20)

    def line(self, subject: str, number: int) -> Builder:
        """Add a patch that changes the line of this number (from 1) of lib/a.c."""
        lines = self.tree["lib/a.c"].splitlines(keepends=True)
        lines[number - 1] = f"changed {number}\n"
        return self.edit(subject, {"lib/a.c": "".join(lines)})

    def edit(self, subject: str, files: dict[str, str]) -> Builder:
        """Add a patch that brings files, by path, to new texts."""
        diffs = ""
        for path, text in sorted(files.items()):
            lines = (old.splitlines(keepends=True) for old in (self.tree.get(path, ""), text))
            diffs += "".join(difflib.unified_diff(*lines, f"a/{path}", f"b/{path}"))
            self.tree[path] = text
        name = file_name(f"[PATCH] {subject}")
        stat = f" {len(files)} files changed\n\n"
        header = HEADER.format(subject)
        (self.patches / name).write_text(header + stat + diffs)
        self.series.append(name)
        return self

    def write(self) -> Series:
        """Write the series file and load the series."""
        (self.repo / "series").write_text("\n".join(self.series) + "\n")
        return load_series(self.repo)

    def alter(self, subject: str, old: str, new: str) -> Series:
        """Replace text in one patch and load the series again."""
        path = self.patches / file_name(f"[PATCH] {subject}")
        text = path.read_text()
        assert old in text, f"fixture: no '{old}' in {path.name}"
        path.write_text(text.replace(old, new))
        return self.write()
