# SPDX-License-Identifier: GPL-2.0
"""How the kernel's functions return on this CPU, for benchmarks of its copies: by the thunk of a
mitigation or by a plain ret. A benchmark compiles what stands for a function of the kernel with
flags(), and assembles the kernel's routines by routines()."""
from __future__ import annotations

from pathlib import Path

from tools.figures.measure import assemble, command

VULNERABILITIES = Path("/sys/devices/system/cpu/vulnerabilities")
# Name of the return: the file and the words there that say that the kernel uses it, and its thunk
THUNKS = {
    # The stack of returns predicts that the call returns, the return goes elsewhere
    "safe-RET": ("spec_rstack_overflow", "Safe RET",
                 "call 1f\n\tud2\n1:\tlea 8(%rsp), %rsp\n\tret\n\tint3"),
    "ITS thunk": ("indirect_target_selection", "Aligned branch/return thunks", "ret\n\tint3"),
}


def returns() -> str:
    """Return how the kernel's functions return on this CPU: a name of THUNKS, or "ret"."""
    for name, (file, words, _) in THUNKS.items():
        if (path := VULNERABILITIES / file).is_file() and words in path.read_text(encoding="utf-8"):
            return name
    return "ret"


def flags(how: str) -> list[str]:
    """Return gcc's options for functions that return in this way."""
    return [] if how == "ret" else ["-mfunction-return=thunk-extern"]


def routines(tree: Path, directory: Path, sources: tuple[tuple[str, str, list[str]], ...], how: str
             ) -> list[Path]:
    """Assemble a tree's routines so that they return in this way, see assemble(), and its thunk."""
    header, thunk = directory / "ret.h", directory / "thunk.S"
    header.write_text("" if how == "ret" else ".macro ret\njmp __x86_return_thunk\n.endm\n")
    # In the second half of a line, where the mitigation of ITS has it
    thunk.write_text(f".p2align 6\n.skip 32, 0xcc\n.globl __x86_return_thunk\n__x86_return_thunk:\n"
                     f"\t{THUNKS[how][2] if how in THUNKS else 'ret'}\n.section .note.GNU-stack\n")
    command("gcc", "-c", "-o", directory / "thunk.o", thunk)
    included = [(source, name, [*more, "-include", str(header)]) for source, name, more in sources]
    return [*assemble(tree, directory, tuple(included)), directory / "thunk.o"]
