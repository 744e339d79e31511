# SPDX-License-Identifier: GPL-2.0
"""Fields of a structure of the kernel, by pahole, and which of them a workload touches."""
from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.model.workload import ModelError

QUAD, LINE = 4, 64
# Structures in a task_struct whose fields are named
INSIDE = ("se", "thread", "sched_info", "rseq", "mm_cid", "vtime")
# A member as pahole prints it: its name, the offset and, of a bit field, the bit, the size in bytes
MEMBER = re.compile(r"^\t(?:.*?\(\*(\w+)\)\(.*\)|.*?(\w+)(?:\[\d*\])*(?::\d+)?|\}(?: (\w+))?)"
                    r"(?: __attribute__\(\(.*\)\))?;\s+/\*\s*(\d+)(?::\s*\d+)?\s+(\d+)\s*\*/")


@dataclass(frozen=True)
class Field:
    """A field: its name, where it begins and how large it is, in bytes; type_name: the structure
    that it is, or empty."""

    name: str
    offset: int
    size: int
    type_name: str = ""


def fields_of(objects: Path, struct: str) -> list[Field]:
    """Return the fields of a structure in their order; bit fields of a word are one.

    objects: a file with DWARF that uses it. Raises ModelError.
    """
    try:
        printed = subprocess.run(["pahole", "-C", struct, objects], capture_output=True, text=True,
                                 check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ModelError(f"pahole -C {struct} {objects}: {error}") from None
    found: dict[int, Field] = {}
    for line in printed.splitlines():
        if not (match := MEMBER.match(line)):
            continue
        name = next(filter(None, match.groups()[:3]), "(unnamed)")
        offset, size = int(match[4]), int(match[5])
        if not size:  # a mark of a cache line group
            continue
        inner = re.match(r"\tstruct (\w+) +\w+(?: __attribute__.*)?;", line)
        field = Field(name, offset, size, inner[1] if inner else "")
        if offset in found:
            name = f"{found[offset].name}, {name}"
            field = Field(name, offset, max(size, found[offset].size))
        found[offset] = field
    if not found:
        raise ModelError(f"pahole knows no struct {struct} in {objects}")
    return sorted(found.values(), key=lambda field: field.offset)


def expanded(objects: Path, struct: str, inside: tuple[str, ...]) -> list[Field]:
    """Return the fields of a structure, those named in inside as the fields that they have."""
    found = []
    for field in fields_of(objects, struct):
        if field.name in inside:
            found += [Field(f"{field.name}.{inner.name}", field.offset + inner.offset, inner.size)
                      for inner in fields_of(objects, field.type_name)]
        else:
            found.append(field)
    return found


def touched(counted: dict[str, Any] | None, fields: list[Field]) -> list[list[Any]]:
    """Return the fields that are touched, in their order: name, offset and size in bytes, and the
    shares of the objects in which they are loaded, and stored.

    counted: of one kind of objects, as the plugin counts them, None for none of it. What lies in
    the same four bytes counts as touched, too. What is behind the structure is named by its line.
    """
    if not counted:
        return []
    found: list[list[Any]] = []
    end = fields[-1].offset + fields[-1].size
    behind = [Field(f"(behind it, line {at // LINE})", at, LINE)
              for at in range(-(-end // LINE) * LINE, QUAD * len(counted["loaded"]), LINE)]
    for field in (*fields, *behind):
        quads = slice(field.offset // QUAD, -(-(field.offset + field.size) // QUAD))
        shares = [round(max(counted[how][quads], default=0) / counted["objects"], 3)
                  for how in ("loaded", "stored")]
        if any(shares):
            found.append([field.name, field.offset, field.size, *shares])
    return found
