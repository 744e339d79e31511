# SPDX-License-Identifier: GPL-2.0
"""The pushed kernel tree as a source: its files as they were before the series, a hash of it."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from tools import environment
from tools.command import must


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file, none when there is no such file."""
    return path.read_text().splitlines() if path.is_file() else []


@dataclass(frozen=True)
class Sources:
    """The kernel sources: the pushed tree, where quilt has the files as they were before."""

    tree: Path

    @classmethod
    def from_env(cls) -> Sources:
        """Return the sources that KDIR= names."""
        return cls(environment.tree())

    def kernel(self) -> Path:
        """Return the pushed tree; FileNotFoundError when there is none."""
        if not (self.tree / "scripts/checkpatch.pl").is_file():
            raise FileNotFoundError("no kernel tree: run `make base`")
        return self.tree

    def original(self, path: str) -> Path | None:
        """Return the file as it was before the series, None if there was none.

        Raises FileNotFoundError when there are no sources at all.
        """
        found = self.kernel() / path
        applied = self.tree / ".pc/applied-patches"
        for name in applied.read_text().split() if applied.is_file() else []:
            backup = self.tree / ".pc" / name / path
            if backup.is_file():
                # quilt makes an empty file where there was none
                return backup if backup.stat().st_size else None
        return found if found.is_file() else None

    def copy(self, paths: list[str], into: Path) -> Path:
        """Copy files as they were before the series, and the kernel's Makefile.

        Returns the directory, which is made. Raises OSError.
        """
        into.mkdir(parents=True)
        for path in {*paths, "Makefile"}:
            if original := self.original(path):
                target = into / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(original, target)
                target.chmod(target.stat().st_mode | 0o200)
        return into


def listing(kernel: Path) -> list[str]:
    """Return 'path size time' of each file of a tree, sorted, without those of quilt and git."""
    hidden = "( -name .pc -o -name .git -o -name .cache-footprint* ) -prune".split()
    files = ["-o", "-type", "f", "-printf", "%P %s %T@\\n"]
    return sorted(must(["find", kernel, *hidden, *files]).splitlines())


def fingerprint(lines: list[str], without: set[str]) -> str:
    """Return one hash of a listing but for some paths."""
    rest = [line for line in lines if line.rsplit(" ", 2)[0] not in without]
    return hashlib.sha256("\n".join(rest).encode()).hexdigest()
