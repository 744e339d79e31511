# SPDX-License-Identifier: GPL-2.0
"""A copy of the kernel tree that moves to the state after any number of patches.

The copy is hard links to the tree it was made from, but for the files that the series touches:
those are replaced, never written to. A file keeps its time as long as its content is the same, so
that kbuild builds what a move changes and nothing else.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools.command import must, run
from tools.tree.sources import Sources, fingerprint, listing
from tools.tree.state import States

# The modes that git and put() tell apart
PLAIN, PROGRAM = 0o644, 0o755


class WorkingCopy:
    """The copy of a tree, and where it is."""

    def __init__(self, states: States, sources: Sources, tree: Path) -> None:
        """Args: the states, the sources they were made of, where the copy is or will be."""
        self.states = states
        self.sources = sources
        self.tree = tree
        self.stamp = tree.with_name(f"{tree.name}.from")

    def prepare(self) -> bool:
        """Make the copy, unless the one that is there is of the same tree.

        Returns whether it was made: then all that was built before has to go.
        """
        kernel = self.sources.kernel()
        lines = listing(kernel)
        before, *touched = self.stamp.read_text().splitlines() if self.stamp.is_file() else [""]
        union = {*touched, *self.states.paths}
        anew = not self.tree.is_dir() or before != fingerprint(lines, set(touched))
        if anew:
            self.stamp.unlink(missing_ok=True)
            self.link(kernel)
            touched, union = [], set(self.states.paths)
        for path in sorted(set(touched) - set(self.states.paths)):
            self.put(path, self.sources.original(path))
        self.stamp.write_text("\n".join([fingerprint(lines, union), *sorted(union)]) + "\n")
        return anew

    def link(self, kernel: Path) -> None:
        """Copy the tree by hard links, or wholly across file systems."""
        shutil.rmtree(self.tree, ignore_errors=True)
        self.tree.mkdir(parents=True)
        hidden = (".pc", ".git", ".cache-footprint")
        parts = [path for path in sorted(kernel.iterdir()) if not path.name.startswith(hidden)]
        if run(["cp", "-al", *parts, self.tree]).returncode:
            shutil.rmtree(self.tree, ignore_errors=True)
            self.tree.mkdir()
            must(["cp", "-a", *parts, self.tree])

    def put(self, path: str, source: Path | None) -> None:
        """Give a file of the copy the content of another, None for no file; the link is broken."""
        target = self.tree / path
        if source is None:
            target.unlink(missing_ok=True)
            return
        mode = PROGRAM if os.access(source, os.X_OK) else PLAIN
        same = target.is_file() and target.read_bytes() == source.read_bytes()
        if not same or target.stat().st_nlink > 1:
            target.parent.mkdir(parents=True, exist_ok=True)
            scratch = target.with_name(f".{target.name}.new")
            if same:
                shutil.copy2(target, scratch)
            else:
                shutil.copyfile(source, scratch)
            scratch.replace(target)
        target.chmod(mode)

    def go(self, number: int) -> None:
        """Bring the copy to the state after `number` patches."""
        there = self.states.files(number)
        directory = self.states.check_out(number)
        for path in self.states.paths:
            self.put(path, directory / path if path in there else None)
