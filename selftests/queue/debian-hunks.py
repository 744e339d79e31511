#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the list of line ranges that Debian changed in its kernel source.

    debian-hunks.py DEBIAN_DIR TREE > debian-hunks.txt

DEBIAN_DIR is the unpacked debian/ directory of the source package linux, TREE
its patched source, as the package linux-source has it.  Each hunk of Debian's
patches is looked for in TREE by the lines that it leaves there, with as much
of its context as still matches.  Hunks that cannot be found (replaced by a
later patch, or gone upstream) are named on stderr.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from selftests.queue.patchqueue import Hunk, parse_diff  # noqa: E402


def positions(needle: list[str], lines: list[str]) -> list[int]:
    """Return each index at which needle stands in lines."""
    size = len(needle)
    return [
        at
        for at in range(len(lines) - size + 1)
        if lines[at] == needle[0] and lines[at : at + size] == needle
    ]


def changed_span(hunk: Hunk) -> tuple[int, int]:
    """Return where in hunk.post the change is; empty for a pure deletion."""
    at, first, last = 0, None, 0
    for line in hunk.lines:
        if line[0] != " ":
            first = at if first is None else first
            last = at + (line[0] == "+")
        at += line[0] != "-"
    return first or 0, last


def locate(hunk: Hunk, lines: list[str]) -> tuple[int, int] | None:
    """Find what a hunk leaves in a file.

    Args: the hunk, the lines of the file after the change.
    Returns first and last changed line counted from 1 (for a pure deletion
    the two lines around it), or None when no unique place is found.
    """
    post = hunk.post
    first, last = changed_span(hunk)
    for context in (3, 2, 1, 0):
        start, end = max(first - context, 0), min(last + context, len(post))
        window = post[start:end]
        if not any(line.strip() for line in window):
            continue
        if first == last and len(window) < 4:
            break
        found = positions(window, lines)
        if len(found) == 1:
            begin = found[0] + (first - start)
            finish = found[0] + (last - start)
            if first == last:
                return max(begin, 1), begin + 1
            return begin + 1, finish
    return None


def runs(hunk: Hunk) -> list[Hunk]:
    """Split a hunk into its runs of changed lines, with up to three lines around."""
    parts: list[Hunk] = []
    at, lines = 0, hunk.lines
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end][0] != " ":
            end += 1
        if end > at:
            before, after = at, end
            while before > max(at - 3, 0) and lines[before - 1][0] == " ":
                before -= 1
            while after < min(end + 3, len(lines)) and lines[after][0] == " ":
                after += 1
            parts.append(Hunk(0, 0, hunk.new_start, 0, lines[before:after]))
        at = end + 1
    return parts


def spans(hunk: Hunk, lines: list[str]) -> list[tuple[int, int]]:
    """Return where a hunk is, else where its runs are; empty when nowhere."""
    whole = locate(hunk, lines)
    if whole:
        return [whole]
    return [span for run in runs(hunk) if (span := locate(run, lines))]


def patch_names(debian: Path) -> list[str]:
    """Return the names in debian/patches/series."""
    lines = (debian / "patches/series").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and line[0] != "#"]


def package_version(debian: Path) -> str:
    """Return the version at the top of debian/changelog."""
    first = (debian / "changelog").read_text(errors="replace").split("\n", 1)[0]
    match = re.search(r"\(([^)]+)\)", first)
    return match[1] if match else "unknown"


def ranges(debian: Path, tree: Path) -> set[tuple[str, int, int]]:
    """Return (path, first, last) of each hunk of each patch found in the tree."""
    found: set[tuple[str, int, int]] = set()
    for name in patch_names(debian):
        text = (debian / "patches" / name).read_text(errors="replace")
        for diff in parse_diff(text):
            target = tree / diff.path
            if diff.gone or not target.is_file():
                print(f"{name}: {diff.path}: not in the tree", file=sys.stderr)
                continue
            lines = target.read_text(errors="replace").splitlines()
            for hunk in diff.hunks:
                places = [(1, len(lines))] if diff.new else spans(hunk, lines)
                found.update((diff.path, *span) for span in places)
                if not places:
                    place = f"{diff.path}:{hunk.new_start}"
                    print(f"{name}: {place}: not found", file=sys.stderr)
    return found


def main() -> int:
    """Print the list; status 1 when nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("debian", type=Path, help="unpacked debian/ directory")
    parser.add_argument("tree", type=Path, help="Debian's patched kernel source")
    parser.add_argument("--tree-version", default="", help="the tree's package version")
    args = parser.parse_args()
    found = sorted(ranges(args.debian, args.tree))
    version = package_version(args.debian)
    print("# Lines of Debian's kernel source that differ from the upstream release,")
    print("# one `path:first-last` per hunk; made by debian-hunks.py from the patches")
    print(f"# of linux {version}, looked up in linux-source {args.tree_version or version}.")
    for path, first, last in found:
        print(f"{path}:{first}-{last}")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
