# SPDX-License-Identifier: GPL-2.0
"""Reads the lists of allowed splats, skips and ids; an exception without a reason is an error."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

# What an id may begin with: its part, and a beginning of the test's name
PREFIX = re.compile(r"[\w.-]+/[\w.,:=+@-]*")


class ListError(ValueError):
    """A line of a list cannot be understood; the text names file and line."""


@dataclass
class Allow:
    """What may stand in a log: splat patterns and taint bits, with reasons."""

    splats: list[tuple[re.Pattern[str], str]] = field(default_factory=list)
    taints: dict[int, str] = field(default_factory=dict)

    def splat(self, line: str) -> bool:
        """Return whether a log line is an allowed splat."""
        return any(pattern.search(line) for pattern, _ in self.splats)


@dataclass
class Skip:
    """Patterns of test ids (part/test_name) with the reason to skip them."""

    entries: list[tuple[str, str]] = field(default_factory=list)

    def reason(self, test_id: str) -> str | None:
        """Return why a test is skipped, None if it is not."""
        for pattern, reason in self.entries:
            if fnmatchcase(test_id, pattern):
                return reason
        return None


@dataclass
class Ids:
    """Beginnings of test ids with what they become."""

    entries: list[tuple[str, str]] = field(default_factory=list)

    def rename(self, test_id: str) -> str:
        """Return the id that counts for the one a test came with."""
        for prefix, new in self.entries:
            if test_id.startswith(prefix):
                return new + test_id.removeprefix(prefix)
        return test_id


def _rows(path: Path, fields: int) -> list[tuple[str, list[str]]]:
    """Return (place, fields) of each entry of a list.

    The pattern may hold '|': the first and the last field end at the outermost
    ones. Raises ListError when a field is missing or empty.
    """
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{path.name}:{number}"
        head, bar, reason = line.rpartition(" | ")
        row = [*(part.strip() for part in head.split(" | ", fields - 2)),
               reason.strip()]
        if not bar or len(row) != fields or not all(row):
            raise ListError(f"{place}: {fields} fields with a reason as the "
                            f"last one expected: {line.strip()}")
        rows.append((place, row))
    return rows


def read_allow(*paths: Path) -> Allow:
    """Return the allow-list in files; raises ListError, OSError."""
    allow = Allow()
    rows = [row for path in paths for row in _rows(path, 3)]
    for place, (kind, pattern, reason) in rows:
        if kind not in ("splat", "taint"):
            raise ListError(f"{place}: unknown kind {kind}")
        try:
            if kind == "splat":
                allow.splats.append((re.compile(pattern), reason))
            else:
                allow.taints[int(pattern)] = reason
        except (re.error, ValueError) as error:
            raise ListError(f"{place}: {error}") from error
    return allow


def read_skip(path: Path) -> Skip:
    """Return the skip-list in a file; raises ListError, OSError."""
    return Skip([(pattern, reason) for _, (pattern, reason) in _rows(path, 2)])


def read_ids(*paths: Path) -> Ids:
    """Return the lists of ids in files; raises ListError, OSError."""
    ids = Ids()
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            words = line.split()
            if not words or line.startswith("#"):
                continue
            place = f"{path.name}:{number}"
            if len(words) != 2 or not all(map(PREFIX.fullmatch, words)):
                raise ListError(f"{place}: two beginnings of ids (part/test_name) expected: {line.strip()}")
            if ids.rename(words[0]) != words[0]:
                raise ListError(f"{place}: {words[0]}: an earlier line renames it")
            ids.entries.append((words[0], words[1]))
    return ids
