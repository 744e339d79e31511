# SPDX-License-Identifier: GPL-2.0
"""The lists of allowed splats and of ids, and what in a kernel log is a splat or bad taint."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# What an id may begin with: its part, and a beginning of the test's name
PREFIX = re.compile(r"[\w.-]+/[\w.,:=+@-]*")
SPLATS = re.compile(
    r"\bWARNING: |\bBUG: |kernel BUG at |\bOops\b|general protection fault|double fault|"
    r"stack segment fault|\b(KASAN|KMSAN|KCSAN|KFENCE|UBSAN): |"
    r"possible (recursive|circular) locking|possible .*deadlock|\bINFO: possible|"
    r"INFO: trying to register non-static key|DEBUG_LOCKS_WARN_ON|"
    r"suspicious RCU usage|Voluntary context switch within RCU|"
    r"(rcu|RCU).* (self-)?detected( expedited)? stalls?|rcu_\w+ kthread starved|"
    r"soft lockup|hard LOCKUP|INFO: task .* blocked|[Uu]nable to handle|Kernel panic|"
    r"usercopy: Kernel memory (exposure|overwrite) attempt|detected buffer overflow|"
    r"stack-protector: Kernel stack is corrupted|kernel tried to execute|CFI failure|"
    r"Missing ENDBR|Bad page (state|map)|kmemleak: .*suspected memory leak|"
    r"irq \d+: nobody cared")
TAINTS = (
    "PROPRIETARY_MODULE FORCED_MODULE CPU_OUT_OF_SPEC FORCED_RMMOD MACHINE_CHECK BAD_PAGE USER DIE "
    "OVERRIDDEN_ACPI_TABLE WARN CRAP FIRMWARE_WORKAROUND OOT_MODULE UNSIGNED_MODULE SOFTLOCKUP "
    "LIVEPATCH AUX RANDSTRUCT TEST FWCTL").split()
TIMESTAMP = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\](\[ *[TC]\d+\])? ?")
REPLAY = "** replaying previous printk message **"


class ListError(ValueError):
    """A line of a list cannot be understood; the text names file and line."""


@dataclass
class Allow:
    """What may be in a log: patterns of splats, and taint bits."""

    splats: list[re.Pattern[str]] = field(default_factory=list)
    taints: set[int] = field(default_factory=set)


def _rows(path: Path, form: str, separator: str | None = " | ") -> Iterator[tuple[str, list[str]]]:
    """Yield (file:line, fields) of each entry of a list; raises ListError for another form."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            row = [text.strip() for text in line.split(separator)]
            if len(row) != len(form.split(separator)) or not all(row):
                raise ListError(f"{path.name}:{number}: {form} expected: {line.strip()}")
            yield f"{path.name}:{number}", row


def read_allow(*paths: Path) -> Allow:
    """Return the allow-list in files; raises ListError, OSError."""
    allow = Allow()
    for path in paths:
        for place, (kind, pattern, _) in _rows(path, "KIND | PATTERN | REASON"):
            try:
                if kind == "splat":
                    allow.splats.append(re.compile(pattern))
                elif kind == "taint":
                    allow.taints.add(int(pattern))
                else:
                    raise ValueError(f"unknown kind {kind}")
            except (re.error, ValueError) as error:
                raise ListError(f"{place}: {error}") from error
    return allow


def read_ids(*paths: Path) -> dict[str, str]:
    """Return what beginnings of ids become, by the beginning; raises ListError, OSError."""
    ids: dict[str, str] = {}
    for path in paths:
        for place, (old, new) in _rows(path, "OLD/BEGINNING NEW/BEGINNING", None):
            if not PREFIX.fullmatch(old) or not PREFIX.fullmatch(new):
                raise ListError(f"{place}: two beginnings of ids (part/test_name) expected")
            if rename(ids, old) != old:
                raise ListError(f"{place}: {old}: an earlier line renames it")
            ids[old] = new
    return ids


def rename(ids: dict[str, str], test_id: str) -> str:
    """Return the id that counts for the one a test came with: by the first line that fits."""
    old = next((old for old in ids if test_id.startswith(old)), "")
    return ids.get(old, "") + test_id.removeprefix(old)


def whole_lines(log: Iterable[str]) -> list[str]:
    """Return a log without the parts of messages that were printed again, whole, after REPLAY."""
    out: list[str] = []
    partial = None
    for line in log:
        if line == REPLAY and out:
            partial = out.pop()
            continue
        if partial is not None and not line.startswith(partial):
            out.append(partial)
        out.append(line)
        partial = None
    return out if partial is None else [*out, partial]


def find_splats(log: Iterable[str], allow: Allow) -> list[str]:
    """Return the lines of a log that are splats and not allowed, without time stamps."""
    return [TIMESTAMP.sub("", line).strip() for line in log if SPLATS.search(line)
            and not any(pattern.search(line) for pattern in allow.splats)]


def bad_taint(value: int, allow: Allow) -> list[str]:
    """Return the names of the bits of /proc/sys/kernel/tainted that are not allowed."""
    return [TAINTS[bit] if bit < len(TAINTS) else f"bit {bit}"
            for bit in range(value.bit_length()) if value >> bit & 1 and bit not in allow.taints]
