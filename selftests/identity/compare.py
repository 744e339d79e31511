#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the object files of two kernel builds.

A and B are O= directories, or any two directories of .o files. Of each object of either, the
sections that are loaded are compared: flags, alignment, size, bytes, relocations and symbols, as
objdump prints them. So code is the same byte for byte, and so is data, but for the bytes of .data:
UBSAN notes numbers of lines there, which no fixed __LINE__ changes.

Numbers at the end of names (f.constprop.0, __already_done.5, __UNIQUE_ID_x7) count by the order of
their first use only: the compiler hands them out in order. The suffix __imv of a variable that
became an immediate value is dropped. Both sides must be built with __LINE__ fixed.

Of a section that differs, the first difference is printed, with the symbol before it; objdump -dr
shows the instruction. Exit status: 0 no difference, 1 differences, 2 nothing could be compared.
"""

import argparse
import os
import re
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

# Objects that hold the configuration or the linked image, not code of their own
DERIVED = {
    "kernel/configs.o",
    "kernel/kheaders.o",
    "arch/x86/boot/compressed/piggy.o",
    "arch/x86/boot/compressed/misc.o",
    "arch/x86/boot/header.o",
}
SKIPPED_NAME = re.compile(r"^(\.tmp_.*|\.?vmlinux.*|built-in.*|.*\.mod)\.o$")
HOST_DIRECTORY = re.compile(r"^(scripts|tools|arch/[^/]+/tools)(/|$)")
# What is numbered in order: by the compiler, by the assembler's input, by __COUNTER__
COUNTED = re.compile(
    r"(\.)\d+\b|(^\.LC)\d+|(^__(?:UNIQUE_ID|BTF_ID)_\w*?_)\d+\b"
    r"|(^__initcall__kmod_\w+?__)\d+_\d+(?=_)"
)
NAME = re.compile(r"[\w.$]+")
# The lines of objdump
FORMAT = re.compile(r".*:     file format (.*)")
HEADER = re.compile(r" *\d+ (\S+) +([0-9a-f]+) .* (2\*\*\d+) +(.*)")
SYMBOL = re.compile(r"([0-9a-f]+) (.{7}) (\S+)\t([0-9a-f]+) (.*)")
PART = re.compile(r"(?:Contents of section|RELOCATION RECORDS FOR) \[?(.*?)\]?:")
BYTES = re.compile(r" [0-9a-f]+ ((?:[0-9a-f]{2,8} ){1,4})")
RELOCATION = re.compile(r"([0-9a-f]+) (R_\S+ +.*)")


class BadInput(Exception):
    """What was given cannot be compared; the text is the one line to print."""


@dataclass
class Section:
    """What is loaded of an object. notes: symbols and relocations by offset."""

    header: str = ""
    data: bytearray = field(default_factory=bytearray)
    notes: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    labels: dict[int, str] = field(default_factory=dict)

    def at(self, offset: int) -> str:
        """Return what is at an offset, on one line."""
        data = bytes(self.data[offset : offset + 16])
        words = [data.hex(), str(data) if data else "", *self.notes.get(offset, []), self.header]
        return " ".join(filter(None, words))


def plain_name(name: str, seen: dict[str, str]) -> str:
    """Return a name with the order of its first use in place of numbers. seen: names so far."""
    name = name.replace("__imv", "")
    stem = COUNTED.sub(r"\1\2\3\4#", name)
    return name if stem == name else seen.setdefault(name, f"{stem}{len(seen)}")


def objdump(path: Path) -> list[str]:
    """Return what objdump prints of an object; raises BadInput."""
    command = [os.environ.get("OBJDUMP", "objdump"), "-hrtswz", str(path)]
    try:
        run = subprocess.run(command, capture_output=True, check=False, text=True,
                             errors="replace", env={**os.environ, "LC_ALL": "C"})
    except OSError as error:
        raise BadInput(f"{command[0]} does not run: {error.strerror}") from error
    if run.returncode or run.stderr:
        raise BadInput(f"{command[0]} cannot read {path}: {run.stderr.strip().splitlines()[:1]}")
    return run.stdout.splitlines()


def read_object(path: Path) -> tuple[dict[str, Section], int]:
    """Return what is compared of an object by section, and how many functions it has.

    Raises BadInput.
    """
    sections: dict[str, Section] = defaultdict(Section)
    seen: dict[str, str] = {}
    code: set[str] = set()
    functions, part = 0, Section()
    for line in objdump(path):
        if match := HEADER.fullmatch(line):
            name, size, alignment, flags = match.groups()
            if "ALLOC" in flags:
                sections[name].header += f"size {int(size, 16):#x} {alignment} {flags}"
                code |= {name} if "CODE" in flags else set()
        elif match := FORMAT.fullmatch(line):
            sections["object"].header = match[1]
        elif match := SYMBOL.fullmatch(line):
            value, flags, name, size, symbol = match.groups()
            source = flags.endswith("f") and name == "*ABS*"
            label = symbol.startswith(".L") and not int(size, 16)
            known = name in sections or name.startswith("*")
            if known and not (source or label or symbol == name):
                symbol = NAME.sub(lambda match: plain_name(match[0], seen), symbol)
                note = f"{symbol} {flags} size {int(size, 16):#x}"
                sections[name].notes[int(value, 16)].append(note)
                sections[name].labels[int(value, 16)] = symbol
                functions += "F" in flags and name in code
        elif match := PART.fullmatch(line):
            part = sections.get(match[1], Section())
        elif match := RELOCATION.fullmatch(line):
            value = NAME.sub(lambda match: plain_name(match[0], seen), match[2])
            part.notes[int(match[1], 16)].append(value)
        elif match := BYTES.match(line):
            part.data += bytes.fromhex(match[1])
    if len(sections) < 2:
        raise BadInput(f"{path} is an object without sections")
    if ".data" in sections:
        sections[".data"].data.clear()
    return sections, functions


def first_difference(a: Section, b: Section) -> int | None:
    """Return the offset of what differs first, None when nothing does."""
    places = {at for at in a.notes.keys() | b.notes.keys() if a.notes.get(at) != b.notes.get(at)}
    if a.data != b.data:
        places.add(len(os.path.commonprefix([bytes(a.data), bytes(b.data)])))
    return min(places, default=0 if a.header != b.header else None)


def compare_object(job: tuple[str, Path, Path]) -> tuple[int, list[str]]:
    """Return how many functions of an object were compared, and its differences.

    job: the object's name, its files.  Raises BadInput.
    """
    name, path_a, path_b = job
    (a, functions), (b, others) = read_object(path_a), read_object(path_b)
    found = []
    for section in sorted(a.keys() | b.keys()):
        left, right = (side.get(section, Section("absent")) for side in (a, b))
        if (place := first_difference(left, right)) is not None:
            near = max((at for at in left.labels if at <= place), default=None)
            where = "" if near is None else f" {left.labels[near]}+{place - near:#x}"
            found.append(f"{name}: {section}{where}: A: {left.at(place)} B: {right.at(place)}")
    return max(functions, others), found


def is_aggregate(path: Path) -> bool:
    """Return whether kbuild's command file says that ld -r made the object from others."""
    try:
        with open(path.with_name(f".{path.name}.cmd"), encoding="utf-8", errors="replace") as file:
            words = file.readline().split()
    except OSError:
        return False
    return "-r" in words and any(re.match(r"(.*[/-])?ld(\.\w+)?$", word) for word in words[2:4])


def find_objects(root: Path) -> set[str]:
    """Return the objects below root that are compiled for the kernel; raises BadInput."""
    if not root.is_dir():
        raise BadInput(f"{root} is not a directory")
    names = {path.relative_to(root).as_posix() for path in root.rglob("*.o")}
    found = {
        name
        for name in names - DERIVED
        if not (HOST_DIRECTORY.match(name) or SKIPPED_NAME.match(Path(name).name))
        and not is_aggregate(root / name)
    }
    if not found:
        raise BadInput(f"no object in {root}")
    return found


def on_one_side(a: set[str], b: set[str]) -> list[str]:
    """Return a finding for each object that only one build has."""
    return [f"{name}: object: A: absent B: present" for name in b - a] + [
        f"{name}: object: A: present B: absent" for name in a - b
    ]


def compare_pairs(pairs: list[tuple[str, Path, Path]], jobs: int) -> tuple[int, list[str]]:
    """Return how many functions the pairs of objects have, and all differences."""
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        results = list(pool.map(compare_object, pairs, chunksize=8))
    return sum(count for count, _ in results), [line for _, found in results for line in found]


def compare(root_a: Path, root_b: Path, jobs: int) -> int:
    """Print the differences of two builds and the closing line; returns the exit status."""
    in_a, in_b = find_objects(root_a), find_objects(root_b)
    pairs = [(name, root_a / name, root_b / name) for name in sorted(in_a & in_b)]
    functions, found = compare_pairs(pairs, jobs)
    found += on_one_side(in_a, in_b)
    for finding in sorted(found):
        print(finding)
    if not functions and not found:
        raise BadInput(f"no function in the {len(pairs)} objects of {root_a} and {root_b}")
    count = len(in_a | in_b)
    print(f"identity: {count} objects, {functions} functions compared, {len(found)} differ")
    return 1 if found else 0


def main() -> int:
    """Do what the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(
        description="Compare the object files of two kernel builds.",
        epilog="Exit status: 0 no difference, 1 differences, 2 nothing could be compared.",
    )
    parser.add_argument("a", metavar="A", type=Path, help="directory of .o files (O=)")
    parser.add_argument("b", metavar="B", type=Path, help="the same, to compare with A")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count() or 1,
                        help="objects compared at a time (default: %(default)s)")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    try:
        return compare(options.a, options.b, options.jobs)
    except (BadInput, OSError) as error:
        print(f"identity: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
