# SPDX-License-Identifier: GPL-2.0
"""The parser of the series: the series file, its groups and what they need, the patches.

Scripts call it as: series.py QUEUE names|hash [GROUP...], where QUEUE is the
directory of the patches; it prints patch names, one a line, or the hash of their diffs.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

GATE = "# --- gated from here ---"
BANNER = re.compile(r"^# --- group (?P<name>[a-z]+): (?P<why>\S.*) ---$")
NEEDS = re.compile(r"^# needs: (?P<words>[^()]+?)(?: \((?P<why>.+)\))?$")
HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass
class FileDiff:
    """The change of one file: the lines of each hunk as they are."""

    path: str
    hunks: list[list[str]] = field(default_factory=list)

    @property
    def added(self) -> list[str]:
        """All added lines of the file."""
        return [line[1:] for hunk in self.hunks for line in hunk if line[0] == "+"]


@dataclass(frozen=True)
class Patch:
    """One patch file: where it is, its text and the parts of that (notes are below ---)."""

    name: str
    path: Path
    text: str
    message: str
    notes: str
    diff: str
    files: list[FileDiff]

    def header(self, name: str) -> str:
        """Return a mail header's value with folded lines joined, '' when there is none."""
        return folded(self.message.partition("\n\n")[0], name)

    @property
    def test(self) -> str:
        """The tests that the patch names below ---, '' when there is no such line."""
        return folded(self.notes, "Test")

    @property
    def body(self) -> str:
        """The text between the mail headers and the --- line."""
        return self.message.partition("\n\n")[2].strip()


@dataclass
class Group:
    """A bannered part of the series.

    needs has each word of its `# needs:` lines and the reason in parentheses after it; with ''
    for no reason, the group does not apply without it.
    """

    name: str
    why: str
    gated: bool
    names: list[str] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    needs: dict[str, str] = field(default_factory=dict)


@dataclass
class Series:
    """The series file and the patches it names, in order."""

    root: Path
    directory: Path
    groups: list[Group]

    @property
    def names(self) -> list[str]:
        """Every patch name in the order of the series, also those without a file."""
        return [name for group in self.groups for name in group.names]

    @property
    def patches(self) -> list[Patch]:
        """Every patch in the order of the series."""
        return [patch for group in self.groups for patch in group.patches]

    @property
    def paths(self) -> list[str]:
        """Every file of the kernel tree that the series touches, sorted."""
        return touched(self.patches)

    def needs(self, group: Group) -> tuple[set[str], dict[str, str]]:
        """Return what a group needs: names of gated groups, and patch names with the word for each.

        Raises ValueError when a word names neither a group nor the start of one earlier patch.
        """
        groups: set[str] = set()
        patches: dict[str, str] = {}
        before = self.groups[: self.groups.index(group)]
        for word in group.needs:
            named = [other for other in before if other.name == word]
            starts = [name for other in before for name in other.names
                      if name.rpartition("/")[2].startswith(word)]
            if named and named[0].gated:
                groups.add(word)
            elif named or len(starts) == 1:
                patches |= dict.fromkeys(named[0].names if named else starts, word)
            else:
                found = f"{len(starts)} earlier patches begin so"
                raise ValueError(f"series: group {group.name} needs '{word}': {found}")
        return groups, patches

    def choose(self, wanted: Iterable[str] = ()) -> list[Patch]:
        """Return the patches of the wanted groups and of all that they need, in order.

        Without a wanted group this is the whole series. A group that needs other gated groups comes
        when all of those are chosen. Raises ValueError for an unknown group, one that lacks others,
        and a patch without a file.
        """
        chosen = set(wanted)
        names = set() if chosen else set(self.names)
        known = [group.name for group in self.groups]
        for name in chosen.difference(known):
            raise ValueError(f"no group '{name}' in series; it has: {' '.join(known)}")
        for group in self.groups:
            groups, patches = self.needs(group)
            if group.name in chosen and groups - chosen:
                lacks = " ".join(name for name in known if name in groups)
                raise ValueError(f'group {group.name} needs the groups {lacks}: GROUP="{lacks}"')
            if group.name in chosen or groups and groups <= chosen:
                chosen.add(group.name)
                names |= {*group.names, *patches}
        found = {patch.name: patch for patch in self.patches}
        for name in names.difference(found):
            raise ValueError(f"series names {name}, but there is no such file in {self.directory}")
        return [found[name] for name in self.names if name in names]


def touched(patches: Iterable[Patch]) -> list[str]:
    """Return every path that the patches change, sorted."""
    return sorted({diff.path for patch in patches for diff in patch.files})


def series_hash(patches: Iterable[Patch]) -> str:
    """Return one hash of the patches' diffs in order: another changelog is the same series."""
    return hashlib.sha256("".join(patch.diff for patch in patches).encode()).hexdigest()[:16]


def file_name(subject: str) -> str:
    """Return the file name that belongs to a subject; names keep their _."""
    title = re.sub(r"^\[PATCH[^\]]*\]\s*", "", subject).lower()
    return re.sub(r"[^a-z0-9_]+", "-", title).strip("-") + ".patch"


def parse_diff(text: str) -> list[FileDiff]:
    """Parse a unified diff with a/ and b/ prefixes, one FileDiff per ---/+++ pair.

    Raises ValueError when a hunk is cut short.
    """
    files: list[FileDiff] = []
    before = ""
    old = new = 0  # lines of the hunk that are still to come
    for line in text.splitlines():
        kind = line[:1] or " "
        if old > 0 or new > 0:
            if kind not in " +-\\":
                raise ValueError(f"a hunk is cut short at '{line}'")
            if kind != "\\":
                files[-1].hunks[-1].append(line or " ")
            old -= kind in " -"
            new -= kind in " +"
            continue
        if before.startswith("--- ") and line.startswith("+++ "):
            was, now = (name[4:].split("\t")[0].strip() for name in (before, line))
            files.append(FileDiff((was if now == os.devnull else now).partition("/")[2]))
        elif files and (match := HUNK.match(line)):
            old, new = (int(number or 1) for number in match.groups())
            files[-1].hunks.append([])
        before = line
    if old > 0 or new > 0:
        raise ValueError("a hunk is cut short")
    return files


def folded(text: str, name: str) -> str:
    """Return the value of a line NAME: with folded lines joined, '' when there is none."""
    match = re.search(rf"^{name}:(.*(?:\n[ \t].*)*)", text, re.M)
    return re.sub(r"\s*\n\s+", " ", match[1]).strip() if match else ""


def load_patch(path: Path, name: str) -> Patch:
    """Read one patch file, of that name in the series; raises OSError when it is missing,
    ValueError when it is malformed."""
    try:
        text = path.read_text(encoding="utf-8")
        start = re.search(r"^(?:diff -|Index: |--- [^\n]+\n\+\+\+ )|\Z", text, re.M).start()
        message, _, notes = text[:start].partition("\n---\n")
        files = parse_diff(text[start:])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return Patch(name, path, text, message, notes, text[start:], files)


def load_series(root: Path) -> Series:
    """Read ROOT/series and the patches it names, from ROOT/patches or else from ROOT itself.

    Names without a file are in names only: check_series_files reports them.
    Raises OSError when there is no series file, ValueError when a patch is malformed.
    """
    directory = root / "patches" if (root / "patches").is_dir() else root
    series = Series(root, directory, [])
    gated = False
    if not (root / "series").is_file():
        raise FileNotFoundError(f"no series file at {root / 'series'}")
    for line in (root / "series").read_text().splitlines():
        if line == GATE:
            gated = True
        elif banner := BANNER.match(line):
            series.groups.append(Group(banner["name"], banner["why"], gated))
        elif series.groups and (needs := NEEDS.match(line)):
            series.groups[-1].needs |= dict.fromkeys(needs["words"].split(), needs["why"] or "")
        elif name := line.split("#", 1)[0].strip():
            if not series.groups or series.groups[-1].gated != gated:
                series.groups.append(Group("", "", gated))
            group = series.groups[-1]
            group.names.append(name)
            if (directory / name).is_file():
                group.patches.append(load_patch(directory / name, name))
    return series


def main(directory: str, what: str, *wanted: str) -> None:
    """Print what the first comment of this file says; exit code 1 and one line on an error."""
    try:
        series = load_series(Path(directory))
        patches = series.choose(" ".join(wanted).split())
    except (FileNotFoundError, ValueError) as error:
        sys.exit(f"series: error: {error}")
    for line in [series_hash(patches)] if what == "hash" else [patch.name for patch in patches]:
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
