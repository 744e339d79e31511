# SPDX-License-Identifier: GPL-2.0
"""Times user copies of 1 byte to 4 KiB, in user space on the real CPU: copies.c, with the tree's
own routines and unsafe_copy_to_user() of its header; and pairs of system calls of the running
kernel.

`make bench GROUP=usercopy` makes Documentation/results/usercopy/bench.csv; copies.c says what
measures and copies are. STAC and CLAC, which the kernel executes around each copy, cannot be
executed in user space. In older blocks const and words are forms of X86_USERCOPY_CONST that are
gone.
"""
from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tools.figures.cells import Block
from tools.figures.measure import command, of_sizes, samples
from tools.figures.returns import flags, returns, routines

HERE = Path(__file__).resolve().parent
MEASURES = ("hot", "misaligned", "aliased", "cold", "written", "random64", "random512", "calls")


def build(tree: Path, directory: Path, how: str) -> Path:
    """Assemble the tree's routines, unchanged, and link copies.c with them. how: all functions
    return, as tools/figures/returns.py names it."""
    objects = routines(tree, directory, (
        ("copy_user_64.S", "movsq.o", ["-DSYM_SUFFIX=_movsq"]),
        ("copy_user_64.S", "erms.o", ["-DSYM_SUFFIX=_erms", "-DCPU_HAS=X86_FEATURE_ERMS"]),
        ("copy_user_64.S", "unrolled.o", [
            "-DSYM_SUFFIX=_unrolled", "-DCONFIG_X86_USERCOPY_VARIANTS",
            "-DCPU_HAS=X86_FEATURE_USERCOPY_UNROLLED"]),
        ("copy_user_string_64.S", "string.o", [])), how)
    program = directory / "copies"
    header = (tree / "include/linux/uaccess.h").read_text(encoding="utf-8")
    macros = re.search(r"^#define __unsafe_move_to_user\b.*?(?=^#else /\* user_access_begin)",
                       header, re.M | re.S)
    assert macros, "no unsafe_copy_to_user() in include/linux/uaccess.h"
    (directory / "inline.h").write_text(macros[0], encoding="utf-8")
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", *flags(how),
            f"-I{directory}", "-o", program, HERE / "copies.c", *objects)
    return program


def run(tree: Path, rounds: int) -> Block:
    """Measure; return what is the block's own. Raises BenchError."""
    with tempfile.TemporaryDirectory() as directory:
        program = build(tree, Path(directory), returns())
        cells = [cell for measure in MEASURES
                 for cell in samples(program, (measure, rounds), of_sizes(measure))]
    return {"cells": cells, "returns": returns()}
