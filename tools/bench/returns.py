# SPDX-License-Identifier: GPL-2.0
"""How the kernel's routines return on this CPU, for benchmarks that call them."""
from __future__ import annotations

from pathlib import Path

from tools.bench.measure import assemble, command

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
