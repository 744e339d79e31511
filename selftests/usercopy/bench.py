# SPDX-License-Identifier: GPL-2.0
"""Times user copies of 1 byte to 4 KiB, in user space on the real CPU: copies.c, with the tree's
own routines and unsafe_copy_to_user() of its header; and pairs of system calls of the running kernel.

`make bench GROUP=usercopy` makes Documentation/results/usercopy/bench.rst. STAC and CLAC, which the
kernel executes around each copy, cannot be executed in user space: each ratio is given as timed,
and with PAIR cycles added to both sides.
"""
from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from tools.bench.measure import command, machine_words, page_of, samples
from tools.bench.returns import flags, returns, routines
from tools.results.store import Table

HERE = Path(__file__).resolve().parent
# What the table depends on, and this file
PROGRAMS = ("copies.c", "../../tools/bench/returns.py")
# rep_movs_alternative() and unsafe_copy_to_user() are theirs
PATCHES = ("patches of preparations", "patches of smallcopies")
MEASURES = ("hot", "misaligned", "aliased", "cold", "written", "random64", "random512", "calls")
COPIES = ("none", "fsrm", "fsrm_ret", "erms", "movsq", "unrolled", "string", "put_user", "words", "const")
# System calls that differ by copies: without, with, what these are
CALLS = (("sigprocmask", "sigprocmask_out", "rt_sigprocmask(): copy_to_user(8)"),
         ("sigprocmask", "sigprocmask_both", "rt_sigprocmask(): copy_from_user(8), copy_to_user(8)"),
         ("sigaltstack", "sigaltstack_out", "sigaltstack(): copy_to_user(24)"),
         ("sigaction", "sigaction_out", "rt_sigaction(): copy_to_user(32)"),
         ("clock_getres", "clock_getres_out", "clock_getres(): copy_to_user(16) in a function"),
         ("epoll_ctl", "epoll_ctl_in", "epoll_ctl(): copy_from_user(12)"),
         ("pselect6", "pselect6_in", "pselect6(): 16 bytes, in place in mainline, too"))
# Cycles of the time-stamp counter that STAC and CLAC are taken to need: stated, not measured
PAIR = 20

Sample = dict[str, dict[str, float]]


def build(tree: Path, directory: Path, how: str) -> Path:
    """Assemble the tree's routines, unchanged, and link copies.c with them. how: all functions return,
    as tools/bench/returns.py names it."""
    objects = routines(tree, directory, (
        ("copy_user_64.S", "movsq.o", ["-DSYM_SUFFIX=_movsq"]),
        ("copy_user_64.S", "erms.o", ["-DSYM_SUFFIX=_erms", "-DCPU_HAS=X86_FEATURE_ERMS"]),
        ("copy_user_64.S", "unrolled.o", ["-DSYM_SUFFIX=_unrolled", "-DCONFIG_X86_USERCOPY_VARIANTS",
                                          "-DCPU_HAS=X86_FEATURE_USERCOPY_UNROLLED"]),
        ("copy_user_string_64.S", "string.o", [])), how)
    program = directory / "copies"
    header = (tree / "include/linux/uaccess.h").read_text(encoding="utf-8")
    macros = re.search(r"^#define __unsafe_move_to_user\b.*?(?=^#else /\* user_access_begin)", header, re.M | re.S)
    assert macros, "no unsafe_copy_to_user() in include/linux/uaccess.h"
    (directory / "inline.h").write_text(macros[0], encoding="utf-8")
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", *flags(how),
            f"-I{directory}", "-o", program, HERE / "copies.c", *objects)
    return program


def run(tree: Path, rounds: int) -> dict[str, Any]:
    """Measure; return what is the block's own. Raises BenchError."""
    with tempfile.TemporaryDirectory() as directory:
        program = build(tree, Path(directory), returns())
        cells = {measure: samples(program, measure, rounds) for measure in MEASURES}
    return {"cells": cells, "returns": returns()}


def ratio(copies: Sample, slow: str, fast: str) -> tuple[float, float]:
    """Return how many times faster a copy is: as timed, and with STAC and CLAC around both."""
    before, after = copies[slow]["median"], copies[fast]["median"]
    return before / after, (before + PAIR) / (after + PAIR)


HEADS = {
    "hot": "Fixed sizes, hot: cycles for a copy",
    "misaligned": "Fixed sizes, hot, misaligned (3 modulo 64 to 5 modulo 64): cycles for a copy",
    "aliased": "The same, and the destination is 2 above the source modulo 4 KiB: cycles for a "
               "copy",
    "written": "Fixed sizes, hot, of fields of 8 bytes that were written just before: cycles for "
               "both",
    "cold": "Fixed sizes, source and destination in no cache, one copy at a time: cycles for a "
            "copy",
    "random64": "Sizes drawn from 1 to 64 bytes, hot: cycles for a copy",
    "random512": "Sizes drawn from 1 to 512 bytes, hot: cycles for a copy",
}


def calls(result: dict[str, Any]) -> str:
    """Return the table of system calls."""
    medians = {name: sample["median"] for found in result["measures"]["calls"].values()
               for name, sample in found.items()}
    return "\n".join([
        ".. csv-table:: System calls of the running kernel, which has none of our options: cycles",
        "   :header: call, without the copies, with, for the copies", "", *(
            f'   "{about}", {medians[base]:.0f}, {medians[call]:.0f}, '
            f"{medians[call] - medians[base]:.0f}" for base, call, about in CALLS)]) + "\n"


def table(result: dict[str, Any], measure: str) -> str:
    """Return a measure as an rst table; a cell is empty where a copy was not timed."""
    if measure == "calls":
        return calls(result)
    pairs = (("fsrm", "const"), ("erms", "const"), ("fsrm", "unrolled"))
    found = result["measures"][measure]
    names = [name for name in COPIES if any(name in copies for copies in found.values())]
    rows = [["bytes", *names, *(f"{fast}: {slow}" for slow, fast in pairs), "noise"]]
    for size, copies in found.items():
        noise = abs(copies["fsrm_again"]["median"] / copies["fsrm"]["median"] - 1)
        medians = {name: f"{copies[name]['median']:.1f}" for name in names if name in copies}
        rows.append([f"1..{size}" if measure.startswith("random") else size,
                     *(medians.get(name, "") for name in names),
                     *("{:.1f} ({:.1f})".format(*ratio(copies, *pair)) if pair[1] in copies else ""
                       for pair in pairs), f"{100 * noise:.0f} %"])
    head, *lines = (", ".join(f'"{text}"' for text in row) for row in rows)
    return "\n".join([f".. csv-table:: {HEADS[measure]}", f"   :header: {head}", "",
                      *(f"   {line}" for line in lines)]) + "\n"


def verdict(result: dict[str, Any], slow: str, fast: str, least: float, low: int, high: int) -> str:
    """Return whether a copy is so many times faster at sizes low to high, hot, and where not."""
    ratios = {int(size): ratio(copies, slow, fast)
              for size, copies in result["measures"]["hot"].items()
              if low <= int(size) <= high and fast in copies}
    words = []
    for which, what in enumerate(("as timed", "with STAC and CLAC")):
        lost = [f"{size} bytes ({both[which]:.2f})" for size, both in ratios.items()
                if both[which] < least]
        words.append(f"{what} {'does not hold at ' + ', '.join(lost) if lost else 'holds'}")
    return (f"* {fast} at least {least:g} times faster than {slow}, {low} to {high} bytes, hot: "
            f"{'; '.join(words)}.")


ABOUT = (
    "Noise: the difference between two turns of the same copy, fsrm. none is a call that copies "
    "nothing; fsrm is mainline's copy on a CPU with that flag, fsrm_ret the same with a plain ret, "
    "as where returns are not mitigated; erms (rep_movs_alternative) on one "
    "with ERMS only, movsq on one with neither; unrolled and string are what x86_usercopy= can "
    "choose, put_user is a call that stores 8 bytes, const and words are unsafe_copy_to_user() of a "
    "constant and a variable size (in older blocks, forms of X86_USERCOPY_CONST that are gone). Loop and call are included, STAC, CLAC and the "
    "check of the address are not. \"a: b\" is how many times faster a is than b, in brackets with "
    f"{PAIR} cycles for STAC and CLAC added to both: a figure that is stated here, not measured.")


def has_baseline(block: dict[str, Any]) -> bool:
    """Return whether mainline's copy was timed with the returns of the kernel."""
    return "fsrm_ret" in block["cells"]["hot/8"]


def about_returns(block: dict[str, Any]) -> str:
    """Return how the copies that are called return, in words."""
    how = block.get("returns", "ret")
    if has_baseline(block):
        return f"What is called returns by {how}."
    return (f"The routines return by {how}, the function around each copy by a plain ret: all columns "
            "but words and const are too low where returns are mitigated.")


def part(result: dict[str, Any]) -> str:
    """Return the part of the page that is made of a block."""
    return "\n".join([
        f"Timed in user space: {machine_words(result)}; medians of {result['rounds']} rounds in "
        f"which the copies take turns; ``{result['command']}``, {result['date']}. {about_returns(result)} "
        f"{ABOUT}", "",
        verdict(result, "fsrm", "const", 1.5, 1, 64), verdict(result, "erms", "const", 2, 1, 64),
        verdict(result, "fsrm", "unrolled", 1.4, 128, 512), "",
        *(table(result, measure) for measure in MEASURES if measure in result["measures"])])


def page(found: Table) -> str:
    """Return the page of the table, without its head."""
    return page_of(found, part)
