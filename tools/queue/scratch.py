# SPDX-License-Identifier: GPL-2.0
"""Where the sources are, and small scratch copies of what the series touches."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tools import environment
from tools.queue.proc import last_lines, must, run
from tools.series import Patch, Queue


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
                # quilt keeps an empty file where there was none
                return backup if backup.stat().st_size else None
        return found if found.is_file() else None


def copy_originals(queue: Queue, sources: Sources, into: Path) -> Path:
    """Copy the files that the series touches, as they were before it.

    Returns the directory, made new; the kernel's Makefile is always there.
    """
    into.mkdir(parents=True)
    for path in [*queue.paths, "Makefile"]:
        original = sources.original(path)
        if original:
            target = into / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(original, target)
            target.chmod(target.stat().st_mode | 0o200)
    return into


def tree_hash(directory: Path) -> str:
    """Add everything but quilt's files to the index; return the tree's hash."""
    must(["git", "add", "-A", "-f", "--", ".", ":!.pc", ":!patches"], directory)
    return must(["git", "write-tree"], directory).strip()


def make_repo(queue: Queue, sources: Sources, into: Path) -> Path:
    """Make a git repository of the originals, with one commit tagged base."""
    copy_originals(queue, sources, into)
    must(["git", "init", "-q", "-b", "main"], into)
    blanks = "whitespace=-blank-at-eol,-blank-at-eof,-space-before-tab"
    for setting in ("core.fileMode=true", "core.autocrlf=false", f"core.{blanks}", "gc.auto=0"):
        must(["git", "config", *setting.split("=", 1)], into)
    tree_hash(into)
    must(["git", "commit", "-q", "--allow-empty", "-m", "base"], into)
    must(["git", "tag", "base"], into)
    return into


def git_am(repo: Path, patches: list[Patch]) -> list[str]:
    """Apply patches as commits, without fuzz; returns findings."""
    done = run(["git", "am", "-q", *(patch.path for patch in patches)], repo) if patches else None
    if not done or not done.returncode:
        return []
    lines = [line for line in done.stdout.splitlines() if not line.startswith("hint:")]
    run(["git", "am", "--abort"], repo)
    return ["git am: " + last_lines("\n".join(lines[:3]))]


def checkout(repo: Path, revision: str) -> None:
    """Bring the working tree to a revision."""
    must(["git", "checkout", "-q", "-f", "--detach", revision], repo)
    must(["git", "clean", "-qfdx"], repo)


def final_files(queue: Queue, sources: Sources, into: Path) -> tuple[Path, Path]:
    """Return directories with the touched files before and after the series.

    Raises RuntimeError when a patch does not apply.
    """
    base = copy_originals(queue, sources, into / "before")
    final = copy_originals(queue, sources, into / "after")
    for patch in queue.patches:
        must(["patch", "-p1", "-F0", "-E", "-s", "-f", "-i", patch.path], final)
    return base, final
