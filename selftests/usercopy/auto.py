# SPDX-License-Identifier: GPL-2.0
"""What x86_usercopy=auto executes on a CPU with FSRM, for the benchmarks, and how the kernel's
routines return there."""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selftests.bench.measure import assemble, command
from selftests.results.machine import cpu

# The stack of returns predicts that the call returns, the return goes elsewhere
THUNK = """
.globl safe_ret_thunk
safe_ret_thunk:
	call 1f
	ud2
1:	lea 8(%rsp), %rsp
	ret
	int3
.section .note.GNU-stack
"""
SRSO = Path("/sys/devices/system/cpu/vulnerabilities/spec_rstack_overflow")
HEADER = "arch/x86/include/asm/uaccess_64.h"
# A place of mainline's has the five bytes of a call: behind rep movsb there is a NOP. Where auto
# makes no check there is a longer one on each side.
MAINLINE = r'"rep movsb\n.nops 3, 3"'
UNCHECKED = r'".nops 11, 11\nrep movsb\n.nops 9, 9"'
COPIES = (("none", '""'), ("movsb", "MAINLINE"), ("checked", "CHECKED"), ("automatic", "AUTO"),
          ("unrolled", '"call copy_user_unrolled"'), ("string", '"call copy_user_string"'))


def is_zen4(of: Mapping[str, Any]) -> bool:
    """Return whether a CPU is one that the kernel gives X86_FEATURE_ZEN4."""
    model = int(of["model"])
    return (of.get("vendor_id") == "AuthenticAMD" and int(of["cpu family"]) == 25
            and (0x10 <= model <= 0x1f or 0x60 <= model <= 0xaf))


def returns() -> str:
    """Return how the kernel's routines return on this CPU: by SRSO's "safe-RET", or by "ret"."""
    safe = SRSO.is_file() and "Safe RET" in SRSO.read_text(encoding="utf-8")
    return "safe-RET" if safe else "ret"


def routines(tree: Path, directory: Path, sources: tuple[tuple[str, str, list[str]], ...]
             ) -> list[Path]:
    """Assemble a tree's routines so that they return as they do in the kernel; see assemble()."""
    header, thunk = directory / "ret.h", directory / "thunk.S"
    header.write_text(".macro ret\njmp safe_ret_thunk\n.endm\n" if returns() != "ret" else "")
    thunk.write_text(THUNK)
    command("gcc", "-c", "-o", directory / "thunk.o", thunk)
    included = [(source, name, [*more, "-include", str(header)]) for source, name, more in sources]
    return [*assemble(tree, directory, tuple(included)), directory / "thunk.o"]


def write_headers(tree: Path, directory: Path, order: int = 0) -> None:
    """Write auto.h: MAINLINE, CHECKED (Zen 4's, as it stands in the tree) and AUTO (this CPU's); and
    copies.h, COPY() of each, the first `order` of them moved behind the others."""
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
    (directory / "copies.h").write_text(
        "".join(f"COPY({name}, {body})\n" for name, body in (*COPIES[order:], *COPIES[:order])),
        encoding="utf-8")
