# SPDX-License-Identifier: GPL-2.0
"""What a queue is: the series file, its groups, and the patches parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

GATE = "# --- gated from here ---"
BANNER = re.compile(r"^# --- group (?P<name>[a-z-]+): (?P<why>\S.*) ---$")
PREPARATIONS = "preparations"
INTERPLAY = "interplay"
GROUPS = (PREPARATIONS, "immediate", "nontemporal", "usercopy", "colouring", INTERPLAY)
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Hunk:
    """One hunk: its two ranges, and its lines with their first character."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[str, ...]

    @property
    def pre(self) -> list[str]:
        """The lines before the change, context included."""
        return [line[1:] for line in self.lines if line[0] in " -"]

    @property
    def post(self) -> list[str]:
        """The lines after the change, context included."""
        return [line[1:] for line in self.lines if line[0] in " +"]

    @property
    def added(self) -> list[str]:
        """The lines that the change adds."""
        return [line[1:] for line in self.lines if line[0] == "+"]


@dataclass(frozen=True)
class FileDiff:
    """The change of one file; new and gone say that it appears or goes."""

    path: str
    new: bool
    gone: bool
    hunks: tuple[Hunk, ...]

    @property
    def added(self) -> list[str]:
        """All added lines of the file."""
        return [line for hunk in self.hunks for line in hunk.added]


@dataclass(frozen=True)
class Patch:
    """One patch file: where it is, its text, and the two halves of that."""

    name: str
    path: Path
    text: str
    message: str
    notes: str
    diff: str
    files: tuple[FileDiff, ...]

    def header(self, name: str) -> str:
        """Return a mail header's value, '' when there is none."""
        for line in self.message.split("\n\n", 1)[0].splitlines():
            key, _, value = line.partition(":")
            if key == name:
                return value.strip()
        return ""

    @property
    def body(self) -> str:
        """What stands between the mail headers and the --- line."""
        return self.message.partition("\n\n")[2].strip()


@dataclass
class Group:
    """A bannered part of the series."""

    name: str
    why: str
    gated: bool
    patches: list[Patch] = field(default_factory=list)


@dataclass
class Queue:
    """The series file and the patches it names, in order."""

    root: Path
    lines: list[str]
    names: list[str]
    groups: list[Group]

    @property
    def patches(self) -> list[Patch]:
        """Every patch in the order of the series."""
        return [patch for group in self.groups for patch in group.patches]

    @property
    def directory(self) -> Path:
        """Where the patch files are."""
        return self.root / "patches"

    @property
    def paths(self) -> list[str]:
        """Every file of the kernel tree that the series touches, sorted."""
        return sorted({diff.path for patch in self.patches for diff in patch.files})


def clean_path(line: str) -> str:
    """Return the path of a ---/+++ line without a/ or b/, '' for /dev/null."""
    name = line[4:].split("\t", 1)[0].strip()
    return "" if name == "/dev/null" else name.partition("/")[2]


def parse_hunk(lines: list[str], at: int) -> tuple[Hunk, int]:
    """Parse the hunk whose @@ line is lines[at].

    Returns the hunk and the index of the line after it.  Raises ValueError
    when the hunk ends before its counts do.
    """
    match = HUNK.match(lines[at])
    assert match
    old, new = int(match[2] or 1), int(match[4] or 1)
    body: list[str] = []
    at += 1
    need_old, need_new = old, new
    while need_old > 0 or need_new > 0:
        if at == len(lines):
            raise ValueError("a hunk is cut short")
        line = lines[at] or " "
        if line[0] not in " +-\\":
            raise ValueError(f"a hunk is cut short at '{line}'")
        if line[0] != "\\":
            body.append(line)
        need_old -= line[0] in " -"
        need_new -= line[0] in " +"
        at += 1
    hunk = Hunk(int(match[1]), old, int(match[3]), new, tuple(body))
    return hunk, at


def parse_diff(text: str) -> tuple[FileDiff, ...]:
    """Parse a unified diff with a/ and b/ prefixes.

    Returns one FileDiff per ---/+++ pair.  Raises ValueError when a hunk is
    cut short.
    """
    files: list[FileDiff] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines) - 1:
        if not (lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")):
            at += 1
            continue
        old, new = clean_path(lines[at]), clean_path(lines[at + 1])
        at += 2
        hunks: list[Hunk] = []
        while at < len(lines) and HUNK.match(lines[at]):
            hunk, at = parse_hunk(lines, at)
            hunks.append(hunk)
        # With -p ab both names are the file's, also for a new or gone one.
        is_new = not old or bool(hunks) and hunks[0].old_start == hunks[0].old_count == 0
        is_gone = not new or bool(hunks) and hunks[0].new_start == hunks[0].new_count == 0
        files.append(FileDiff(new or old, is_new, is_gone, tuple(hunks)))
    return tuple(files)


def split_patch(text: str) -> tuple[str, str, str]:
    """Split a patch into message, what stands below ---, and the diff."""
    start = re.search(r"^(?:diff -|Index: |--- [^\n]+\n\+\+\+ )", text, re.M)
    head = text[: start.start()] if start else text
    diff = text[start.start() :] if start else ""
    message, _, notes = head.partition("\n---\n")
    return message, notes, diff


def load_patch(path: Path) -> Patch:
    """Read one patch file.

    Raises OSError when it is missing and ValueError when it is malformed.
    """
    text = path.read_text(encoding="utf-8")
    message, notes, diff = split_patch(text)
    try:
        files = parse_diff(diff)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    return Patch(path.name, path, text, message, notes, diff, files)


def load_queue(root: Path) -> Queue:
    """Read ROOT/series and the patches it names.

    Names without a file stay in names only: check_series_files reports them.
    Raises OSError when there is no series file, ValueError when a patch is
    malformed.
    """
    queue = Queue(root, (root / "series").read_text().splitlines(), [], [])
    gated = False
    for line in queue.lines:
        if line == GATE:
            gated = True
        elif banner := BANNER.match(line):
            queue.groups.append(Group(banner["name"], banner["why"], gated))
        elif name := line.split("#", 1)[0].strip():
            queue.names.append(name)
            if not queue.groups:
                queue.groups.append(Group("", "", gated))
            if (queue.directory / name).is_file():
                queue.groups[-1].patches.append(load_patch(queue.directory / name))
    return queue
