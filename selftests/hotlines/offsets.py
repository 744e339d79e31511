#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare two kernels that differ in the order of a structure's fields alone.

  offsets.py BEFORE/vmlinux AFTER/vmlinux

Prints the functions that one kernel has alone, and those whose instructions differ in more than displacements,
immediate values, addresses and padding, with their numbers of instructions. Exit status: 0, whatever differs.
"""
import collections
import re
import subprocess
import sys

SECTIONS = (".text", ".noinstr.text", ".sched.text", ".init.text", ".entry.text")
PADDING = re.compile(r"data16 |cs |xchg +%ax,%ax|nop|int3")
BRANCH = re.compile(r"(j\w+|call)\s+[0-9a-f]+ <([^+>]+)")


def form(text: str) -> str:
    """Return an instruction of objdump without displacements, immediate values and addresses."""
    if branch := BRANCH.match(text):
        return f"{branch[1]} {branch[2]}"
    text = re.sub(r"-?0x[0-9a-f]+\(", "D(", text.partition("#")[0])
    text = re.sub(r"(?<![\w])-?0x[0-9a-f]+", "A", text)
    return " ".join(re.sub(r"(?<=[ ,])\(%", "D(%", text).split())


def functions(vmlinux: str) -> dict[str, list[tuple[str, ...]]]:
    """Return the functions of each name: their instructions in order."""
    found: dict[str, list[list[str]]] = collections.defaultdict(list)
    command = ["objdump", "-d", "--no-show-raw-insn", *(f"-j{name}" for name in SECTIONS), vmlinux]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if line.endswith(">:\n"):
                found[line[line.index("<") + 1:-3]].append([])
                last = found[line[line.index("<") + 1:-3]][-1]
            elif "\t" in line and not PADDING.match(text := line.split("\t", 1)[1].strip()):
                last.append(form(text))
    if process.returncode:
        sys.exit(f"offsets: error: objdump cannot read {vmlinux}")
    return {name: sorted(map(tuple, bodies)) for name, bodies in found.items()}


def main(before: str, after: str) -> None:
    """Print what differs."""
    old, new = functions(before), functions(after)
    for name in sorted(old.keys() ^ new.keys()):
        print(f"{name}: {'before' if name in old else 'after'} alone")
    differ = [name for name in sorted(old.keys() & new.keys()) if old[name] != new[name]]
    for name in differ:
        print(f"{name}: {sum(map(len, old[name]))} -> {sum(map(len, new[name]))} instructions")
    print(f"{len(differ)} of {len(old)} functions differ")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("offsets: error: two vmlinux")
    main(*sys.argv[1:])
