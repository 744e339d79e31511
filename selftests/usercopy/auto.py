# SPDX-License-Identifier: GPL-2.0
"""What x86_usercopy=auto executes on a CPU with FSRM, for the benchmarks."""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selftests.results.machine import cpu

HEADER = "arch/x86/include/asm/uaccess_64.h"
# A place of mainline's has the five bytes of a call: behind rep movsb there is a NOP. Where auto
# makes no check there is a longer one on each side.
MAINLINE = r'"rep movsb\n.nops 3, 3"'
UNCHECKED = r'".nops 11, 11\nrep movsb\n.nops 9, 9"'


def is_zen4(of: Mapping[str, Any]) -> bool:
    """Return whether a CPU is one that the kernel gives X86_FEATURE_ZEN4."""
    model = int(of["model"])
    return (of["vendor_id"] == "AuthenticAMD" and int(of["cpu family"]) == 25
            and (0x10 <= model <= 0x1f or 0x60 <= model <= 0xaf))


def write_header(tree: Path, directory: Path) -> None:
    """Write auto.h: MAINLINE, CHECKED (Zen 4's, as it stands in the tree) and AUTO (this CPU's)."""
    text = (tree / HEADER).read_text(encoding="utf-8")
    macros = []
    for name in ("COPY_USER_DISTANCE", "COPY_USER_WINDOW"):
        found = re.search(rf"#define {name}\b(?:.*\\\n)+.*\n", text)
        assert found, f"no {name} in {HEADER}"
        macros.append(found[0])
    auto = "CHECKED" if is_zen4(cpu()) else UNCHECKED
    (directory / "auto.h").write_text(
        "#define ALTERNATIVE(old, new, feature) new\n" + "".join(macros)
        + '#define CHECKED COPY_USER_DISTANCE "\\n" COPY_USER_WINDOW\n'
        + f"#define MAINLINE {MAINLINE}\n#define AUTO {auto}\n",
        encoding="utf-8")
