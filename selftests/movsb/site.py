# SPDX-License-Identifier: GPL-2.0
"""What a user copy executes on a CPU with FSRM, by the macros of the tree, for the benchmark."""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.figures.machine import cpu

HEADER = "arch/x86/include/asm/uaccess_64.h"
# A site of mainline's has the five bytes of a call: behind rep movsb there is a NOP. Where the
# series makes no check there is a longer one on each side.
MAINLINE = r'"rep movsb\n.nops 3, 3"'
UNCHECKED = r'".nops 11, 11\nrep movsb\n.nops 9, 9"'
# The features of a CPU by the last distance that it checks; where that is 0, the check is Zen 4's
FEATURES = {31: "ZEN3", 15: "ZEN4", 0: "ZEN4"}
COPIES = (("none", '""'), ("movsb", "MAINLINE"), ("checked", "CHECKED"), ("series", "SERIES"),
          ("movsq", '"call rep_movs_alternative_movsq"'))


def last_distance(machine: Mapping[str, Any]) -> int:
    """Return the last distance for which a CPU takes the loop, by what the kernel takes for
    X86_FEATURE_ZEN3 and X86_FEATURE_ZEN4; 0: it looks at no distance."""
    model = int(machine["model"])
    if machine.get("vendor_id") != "AuthenticAMD" or int(machine["cpu family"]) != 25:
        return 0
    if model <= 0x0f or 0x20 <= model <= 0x5f:
        return 31
    return 15 if 0x10 <= model <= 0x1f or 0x60 <= model <= 0xaf else 0


def write_headers(tree: Path, directory: Path, order: int = 0) -> None:
    """Write site.h: MAINLINE, CHECKED (as it stands in the tree, with Zen 4's distances where this
    CPU has none), SERIES (what this CPU executes); and copies.h, COPY() of each, the first `order`
    of them moved behind the others."""
    text = (tree / HEADER).read_text(encoding="utf-8")
    macro = re.search(r"#define COPY_USER_MOVSB_AT\b.*\n"
                      r"#define COPY_USER_BY_DISTANCE\b(?:.*\\\n)+.*\n", text)
    assert macro, f"no COPY_USER_BY_DISTANCE in {HEADER}"
    last = last_distance(cpu())
    series = "CHECKED" if last else UNCHECKED
    (directory / "site.h").write_text(
        f'#include "{tree.resolve()}/include/linux/stringify.h"\n'
        f"{macro[0]}#define CHECKED COPY_USER_BY_DISTANCE({last or 15})\n"
        f"#define MAINLINE {MAINLINE}\n#define SERIES {series}\n", encoding="utf-8")
    (directory / "copies.h").write_text(
        "".join(f"COPY({name}, {body})\n" for name, body in (*COPIES[order:], *COPIES[:order])),
        encoding="utf-8")
