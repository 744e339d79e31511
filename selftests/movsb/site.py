# SPDX-License-Identifier: GPL-2.0
"""What a user copy executes on a CPU with FSRM, by the macros of the tree, for the benchmark."""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selftests.results.machine import cpu

HEADER = "arch/x86/include/asm/uaccess_64.h"
# A site of mainline's has the five bytes of a call: behind rep movsb there is a NOP. Where the
# series makes no check there is a longer one on each side.
MAINLINE = r'"rep movsb\n.nops 3, 3"'
UNCHECKED = r'".nops 11, 11\nrep movsb\n.nops 9, 9"'
COPIES = (("none", '""'), ("movsb", "MAINLINE"), ("checked", "CHECKED"), ("series", "SERIES"),
          ("unrolled", '"call copy_user_unrolled"'))


def is_zen4(machine: Mapping[str, Any]) -> bool:
    """Return whether a CPU is one that the kernel gives X86_FEATURE_ZEN4."""
    model = int(machine["model"])
    return (machine.get("vendor_id") == "AuthenticAMD" and int(machine["cpu family"]) == 25
            and (0x10 <= model <= 0x1f or 0x60 <= model <= 0xaf))


def write_headers(tree: Path, directory: Path, order: int = 0) -> None:
    """Write site.h: MAINLINE, CHECKED (Zen 4's, as it stands in the tree), SERIES (this CPU's); and
    copies.h, COPY() of each, the first `order` of them moved behind the others."""
    text = (tree / HEADER).read_text(encoding="utf-8")
    macro = re.search(r"#define COPY_USER_BY_DISTANCE\b(?:.*\\\n)+.*\n", text)
    assert macro, f"no COPY_USER_BY_DISTANCE in {HEADER}"
    series = "CHECKED" if is_zen4(cpu()) else UNCHECKED
    (directory / "site.h").write_text(
        f"{macro[0]}#define CHECKED COPY_USER_BY_DISTANCE\n"
        f"#define MAINLINE {MAINLINE}\n#define SERIES {series}\n", encoding="utf-8")
    (directory / "copies.h").write_text(
        "".join(f"COPY({name}, {body})\n" for name, body in (*COPIES[order:], *COPIES[:order])),
        encoding="utf-8")
