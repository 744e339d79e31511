#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# Compares two kernel builds object by object, function by function.
"""Compare the machine code of two kernel builds.

A and B are O= directories (or any two directories of .o files). Every object
of either is compared:

  code     the set of functions, and of each function the section it is in and
           its instructions with their relocations (objdump -dr), addresses
           relative to the function. Code without a symbol of its own
           (.altinstr_replacement, .altinstr_aux) counts as one function named
           after its section.
  data     section and size of each object symbol, so that a new field of a
           structure shows wherever a variable of that type stands.
  tables   size of the allocated sections otherwise: exception table, bug
           table, alternatives, static keys, static calls. Of alternatives the
           features and lengths, too.

Objects with equal bytes are equal; only the others are disassembled.

Left out of the comparison, since it may differ without any change of code:

Names. Numbers that the compiler hands out in order (.constprop.N, .isra.N,
.part.N, .cold.N, __func__.N, __already_done.N, __UNIQUE_ID_xxxN, initcall
names with counter and line) are dropped, and so is the __imv behind the name
of a variable that became an immediate value, in all builds. References into a
section, the way the assembler writes those to local symbols and .LCn, are
turned back into symbol and offset, or into the text or the bytes of the
constant they mean. Equal names are told apart by their instructions first,
then by their order.

Line numbers are not: both sides must be built with __LINE__ fixed.

Exit status: 0 no difference, 1 differences, 2 nothing could be compared.
"""

import argparse
import os
import re
import struct
import subprocess
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

# Objects that hold the configuration or the linked image, not code of their own
DERIVED = {
    "kernel/configs.o": "the text of .config, which names the new options",
    "kernel/kheaders.o": "an archive of the headers",
    "arch/x86/boot/compressed/piggy.o": "the compressed image",
    "arch/x86/boot/compressed/misc.o": "addresses of the linked image",
    "arch/x86/boot/header.o": "addresses of the linked image",
}
# sizeof(struct alt_instr)
ALTERNATIVE = 14
SKIPPED_NAME = re.compile(r"^(\.tmp_.*|\.?vmlinux.*|built-in.*|.*\.mod)\.o$")
HOST_DIRECTORY = re.compile(r"^(scripts|tools|arch/[^/]+/tools)(/|$)")

# Sections whose size says nothing of its own: texts, what objtool and the
# compiler derive from the instructions, and what the final link throws away
DERIVED_SECTION = re.compile(
    r"^(\.rodata(\..+)?\.str\d.*|\.init\.rodata\.str\d.*|\.orc_.*|\.eh_frame|\.return_sites"
    r"|\.call_sites|\.retpoline_sites|\.ibt_endbr_seal|\.cfi_sites|__mcount_loc"
    r"|__patchable_function_entries|\.discard\..*|\.note.*|\.modinfo)$")

NUMBERING = (
    (re.compile(r"\.(constprop|isra|lto_priv|llvm)\.\d+"), ""),
    (re.compile(r"\.(part|cold)\.\d+"), r".\1"),
    (re.compile(r"(__UNIQUE_ID_.*?)_?\d+(\.\d+)*$"), r"\1"),
    (re.compile(r"(__initcall__kmod_\w+?__)\d+_\d+_"), r"\1"),
    (re.compile(r"(__BTF_ID__\w+?__)\d+$"), r"\1"),
    (re.compile(r"(\.\d+)+$"), ""),
    (re.compile(r"__imv$"), ""),
)

SHF_ALLOC, SHF_EXECINSTR, SHF_MERGE, SHF_STRINGS = 0x2, 0x4, 0x10, 0x20
SHT_SYMTAB, SHT_NOBITS = 2, 8
SHN_COMMON, SHN_XINDEX, SHN_LORESERVE = 0xFFF2, 0xFFFF, 0xFF00
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_TLS, STT_IFUNC = 0, 1, 2, 6, 10


class BadInput(Exception):
    """What was given cannot be compared; the text is the one line to print."""


class Section(NamedTuple):
    """One section of an object."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    entry_size: int
    link: int

    @property
    def is_code(self) -> bool:
        return self.flags & (SHF_ALLOC | SHF_EXECINSTR) == SHF_ALLOC | SHF_EXECINSTR

    @property
    def is_data(self) -> bool:
        return self.flags & (SHF_ALLOC | SHF_EXECINSTR) == SHF_ALLOC


class Symbol(NamedTuple):
    """One named symbol that the object defines, its section by index."""

    name: str
    value: int
    size: int
    type: int
    section: int


class Instruction(NamedTuple):
    """An instruction as compared; offset counts from the start of its function."""

    offset: int
    text: str


@dataclass
class Function:
    """A stretch of code from one symbol to the next."""

    section: str
    size: int
    code: list[Instruction] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [f"section {self.section}"] + [i.text for i in self.code]


def plain_name(name: str) -> str:
    """name without the numbers that compiler and preprocessor hand out, and without __imv."""
    for pattern, replacement in NUMBERING:
        name = pattern.sub(replacement, name)
    return name


def c_string(data: bytes, offset: int) -> str:
    """The NUL-terminated text at offset."""
    return data[offset:data.index(b"\0", offset)].decode("utf-8", "replace")


class Elf:
    """Sections and symbols of a relocatable little-endian ELF object."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path.read_bytes()
        if self.data[:4] != b"\x7fELF" or self.data[5:6] != b"\1":
            raise BadInput(f"{path} is not a little-endian ELF object")
        self.wide = self.data[4] == 2
        try:
            self.sections = self._read_sections()
            self.symbols = list(self._read_symbols())
        except (struct.error, IndexError, ValueError) as error:
            raise BadInput(f"{path} is a damaged ELF object") from error
        self.labels = self._labels()
        self.by_name = {s.name: s for s in self.symbols}
        self.section_index = {s.name: i for i, s in reversed(list(enumerate(self.sections)))}

    def _read_sections(self) -> list[Section]:
        where, layout = (40, "<Q") if self.wide else (32, "<I")
        start, = struct.unpack_from(layout, self.data, where)
        size, count, names = struct.unpack_from("<3H", self.data, 58 if self.wide else 46)
        layout = "<2I4Q2I2Q" if self.wide else "<10I"
        if not start or size != struct.calcsize(layout):
            raise ValueError("no section headers")
        first = struct.unpack_from(layout, self.data, start)
        count, names = count or first[5], first[6] if names == SHN_XINDEX else names
        rows = [struct.unpack_from(layout, self.data, start + i * size) for i in range(count)]
        base = rows[names][4]
        return [Section(c_string(self.data, base + r[0]), r[1], r[2], r[4], r[5], r[9], r[6])
                for r in rows]

    def _read_symbols(self) -> Iterator[Symbol]:
        for table in self.sections:
            if table.type != SHT_SYMTAB:
                continue
            names = self.sections[table.link].offset
            layout = "<IBBHQQ" if self.wide else "<IIIBBH"
            view = memoryview(self.data)[table.offset:table.offset + table.size]
            for row in struct.iter_unpack(layout, view):
                if self.wide:
                    name, info, _, section, value, size = row
                else:
                    name, value, size, info, _, section = row
                if section == SHN_XINDEX:
                    raise BadInput(f"{self.path} has too many sections")
                if name and section:
                    yield Symbol(c_string(self.data, names + name), value, size, info & 15, section)

    def _labels(self) -> dict[int, list[Symbol]]:
        """The symbols of each section by address, without compiler-local ones."""
        labels: dict[int, list[Symbol]] = defaultdict(list)
        for symbol in self.symbols:
            named = symbol.type in (STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_TLS, STT_IFUNC)
            if named and symbol.section < SHN_LORESERVE and not symbol.name.startswith(".L"):
                labels[symbol.section].append(symbol)
        for symbols in labels.values():
            symbols.sort(key=lambda s: (s.value, s.name))
        return labels

    def content(self, section: Section) -> bytes:
        """The bytes of a section, none for .bss."""
        if section.type == SHT_NOBITS:
            return b""
        return self.data[section.offset:section.offset + section.size]

    def functions(self) -> list[Symbol]:
        """The named code symbols, in the order of section and address."""
        return [s for i in sorted(self.labels) if self.sections[i].is_code for s in self.labels[i]]

    def describe(self, index: int, offset: int) -> str:
        """What stands at offset of a section: symbol and offset, a text, a constant."""
        section = self.sections[index]
        inside = 0 <= offset < section.size
        if inside and section.flags & SHF_STRINGS:
            rest = self.content(section)[offset:]
            return repr(rest.split(b"\0", 1)[0])
        if inside and section.flags & SHF_MERGE:
            return "0x" + self.content(section)[offset:offset + section.entry_size][::-1].hex()
        return self._nearest(index, offset)

    def _nearest(self, index: int, offset: int) -> str:
        """Symbol and offset; an address past a symbol's end counts from that end."""
        labels, section = self.labels.get(index, []), self.sections[index]
        position = bisect_right(labels, offset, key=lambda s: s.value)
        if not position:
            return f"{section.name}+{offset:#x}"
        start = labels[position - 1].value
        symbol = next(s for s in labels if s.value == start)
        if section.is_data and offset >= start + symbol.size:
            after = offset - start - symbol.size
            return f"{section.name} after {plain_name(symbol.name)}+{after:#x}"
        return f"{plain_name(symbol.name)}+{offset - start:#x}"


class Disassembly:
    """The functions of one object by plain name, from objdump's output."""

    HEADER = re.compile(r"^Disassembly of section (.*):$")
    LINE = re.compile(r"^ *([0-9a-f]+):\t(.*)$")
    LABEL = re.compile(r"^[0-9a-f]+ <.*>:$")
    RELOCATION = re.compile(r"^\t\t\t([0-9a-f]+): (R_\S+)\t(.*)$")
    ADDEND = re.compile(r"^(.*?)([+-]0x[0-9a-f]+)?$")
    BRANCH = re.compile(r"^(.*?\s)([0-9a-f]+) <.*>$")
    COMMENT = re.compile(r"\s+# ([0-9a-f]+)( <.*>)?$")
    RIP = re.compile(r"-?0x[0-9a-f]+\(%[re]ip\)")
    PADDING = re.compile(r"^((data16|cs)\s+)*(nop|int3|xchg\s+%ax,%ax)")

    def __init__(self, elf: Elf) -> None:
        self.elf = elf
        self.functions: dict[str, list[Function]] = defaultdict(list)
        for index, lines in self._sections():
            self._read_section(index, lines)

    def _sections(self) -> Iterator[tuple[int, list[str]]]:
        """Each disassembled section with its lines. Sections may share a name: order tells."""
        waiting: dict[str, list[int]] = defaultdict(list)
        for index, section in enumerate(self.elf.sections):
            if section.flags & SHF_EXECINSTR and section.size:
                waiting[section.name].append(index)
        index, lines = None, []
        for line in objdump(self.elf.path):
            if header := self.HEADER.match(line):
                if index is not None:
                    yield index, lines
                index, lines = waiting[header[1]].pop(0), []
            elif line:
                lines.append(line)
        if index is not None:
            yield index, lines

    def _read_section(self, index: int, lines: list[str]) -> None:
        section = self.elf.sections[index]
        if not section.is_code:
            return
        starts, stretches = self._stretches(index)
        for address, end, text, relocations in self._instructions(lines, section.size):
            position = bisect_right(starts, address) - 1
            start, function = starts[position], stretches[position]
            if address - start >= function.size > 0 and self.PADDING.match(text):
                continue
            if relocations:
                text = self._relocated(text, end, relocations)
            else:
                text = self._located(text, index, start, starts, address)
            function.code.append(Instruction(address - start, text))

    def _stretches(self, index: int) -> tuple[list[int], list[Function]]:
        """Where the functions of a section start; a symbol at the same address is an alias."""
        section = self.elf.sections[index]
        starts: list[int] = []
        stretches: list[Function] = []
        labels = self.elf.labels.get(index, [])
        if not labels or labels[0].value:
            starts.append(0)
            stretches.append(Function(section.name, 0))
            self.functions[f"[{section.name}]"].append(stretches[0])
        for symbol in labels:
            if symbol.value >= section.size:
                continue
            if not starts or starts[-1] != symbol.value:
                starts.append(symbol.value)
                stretches.append(Function(section.name, 0))
            stretches[-1].size = max(stretches[-1].size, symbol.size)
            self.functions[plain_name(symbol.name)].append(stretches[-1])
        return starts, stretches

    def _instructions(self, lines: list[str], size: int) -> Iterator[tuple[int, int, str, list]]:
        """Address, end, text and relocations of each instruction."""
        rows: list[tuple[int, str, list]] = []
        for line in lines:
            if match := self.LINE.match(line):
                rows.append((int(match[1], 16), match[2].rstrip(), []))
            elif (match := self.RELOCATION.match(line)) and rows:
                rows[-1][2].append((int(match[1], 16), match[2], match[3]))
            elif not self.LABEL.match(line):
                raise BadInput(f"{self.elf.path}: objdump prints an unknown line: {line.strip()}")
        for row, following in zip_longest(rows, rows[1:], fillvalue=(size,)):
            yield row[0], following[0], row[1], row[2]

    def _relocated(self, text: str, end: int, relocations: list) -> str:
        """The instruction with its relocations, branch targets taken from those."""
        text = self.COMMENT.sub("", text)
        targets = [self._target(r, end) for r in relocations]
        if branch := self.BRANCH.match(text):
            inline = "" if self.elf.wide else f" {int(branch[2], 16) - end:#x}"
            return f"{' '.join(branch[1].split())} {' '.join(targets)}{inline}"
        kinds = [r[1] for r in relocations]
        return f"{text} [{', '.join(f'{k} {t}' for k, t in zip(kinds, targets))}]"

    def _target(self, relocation: tuple[int, str, str], end: int) -> str:
        """What a relocation refers to. A relative addend counts from the instruction's end."""
        place, kind, value = relocation
        name, addend = self.ADDEND.match(value).groups()
        distance = int(addend or "0", 16)
        if self.elf.wide and ("PC32" in kind or "PLT32" in kind):
            distance += end - place
        symbol = self.elf.by_name.get(name)
        if symbol is None and name in self.elf.section_index:
            return self.elf.describe(self.elf.section_index[name], distance)
        if symbol is not None and name.startswith(".L"):
            return self.elf.describe(symbol.section, symbol.value + distance)
        return plain_name(name) + (f"+{distance:#x}" if distance else "")

    def _located(self, text: str, index: int, start: int, starts: list[int], address: int) -> str:
        """The instruction with addresses of its own section turned into symbol and offset."""
        if comment := self.COMMENT.search(text):
            target = self._place(int(comment[1], 16), index, start, starts)
            return self.RIP.sub(f"{target}(%rip)", text[:comment.start()])
        if branch := self.BRANCH.match(text):
            target = self._place(int(branch[2], 16), index, start, starts)
            return f"{' '.join(branch[1].split())} {target}"
        return text

    def _place(self, target: int, index: int, start: int, starts: list[int]) -> str:
        position = bisect_right(starts, target) - 1
        if position >= 0 and starts[position] == start:
            return f".+{target - start:#x}"
        return self.elf.describe(index, target)


def objdump(path: Path) -> list[str]:
    """The lines of objdump -dr for one object."""
    command = [os.environ.get("OBJDUMP", "objdump"), "-dr", "-z", "--no-show-raw-insn", str(path)]
    try:
        run = subprocess.run(command, capture_output=True, check=False, text=True,
                             errors="replace", env={**os.environ, "LC_ALL": "C"})
    except OSError as error:
        raise BadInput(f"{command[0]} does not run: {error.strerror}") from error
    if run.returncode:
        raise BadInput(f"{command[0]} cannot read {path}: {run.stderr.strip().splitlines()[-1:]}")
    return run.stdout.splitlines()


def first_difference(a: Function, b: Function) -> tuple[str, str] | None:
    """The first pair of instructions that differ."""
    if a.section != b.section:
        return f"section {a.section}", f"section {b.section}"
    for one, other in zip_longest(a.code, b.code):
        if one != other:
            return text_at(one), text_at(other)
    return None


def text_at(instruction: Instruction | None) -> str:
    """An instruction on one line, for the report."""
    if instruction is None:
        return "end of function"
    return f"+{instruction.offset:#x} {' '.join(instruction.text.split())}"


def without_equal(a: list[Function], b: list[Function]) -> tuple[list[Function], list[Function]]:
    """Functions of one name that have no equal on the other side, in order."""
    left, right = [], list(b)
    for function in a:
        texts = function.texts
        match = next((i for i, other in enumerate(right) if other.texts == texts), None)
        if match is None:
            left.append(function)
        else:
            del right[match]
    return left, right


def compare_code(a: Elf, b: Elf) -> Iterator[str]:
    """The functions that differ."""
    left, right = Disassembly(a).functions, Disassembly(b).functions
    for name in sorted(left.keys() | right.keys()):
        for one, other in zip_longest(*without_equal(left.get(name, []), right.get(name, []))):
            if one is None or other is None:
                yield f"{name}: {sides(one is not None, other is not None)}"
            elif difference := first_difference(one, other):
                yield f"{name}: first differing instruction: A: {difference[0]} B: {difference[1]}"


def sides(in_a: bool, in_b: bool) -> str:
    """Where something is that only one side has."""
    return f"A: {'present' if in_a else 'absent'} B: {'present' if in_b else 'absent'}"


def data_symbols(elf: Elf) -> dict[str, list[tuple[str, int]]]:
    """Section and size of each object symbol by plain name."""
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for symbol in elf.symbols:
        sized = symbol.type == STT_NOTYPE and symbol.size
        if symbol.type not in (STT_OBJECT, STT_TLS) and not sized:
            continue
        if symbol.section == SHN_COMMON:
            found[plain_name(symbol.name)].append(("common", symbol.size))
        elif symbol.section < SHN_LORESERVE and elf.sections[symbol.section].is_data:
            found[plain_name(symbol.name)].append((elf.sections[symbol.section].name, symbol.size))
    return {name: sorted(places) for name, places in found.items()}


def table_sizes(elf: Elf) -> dict[str, int]:
    """Size of each data section that counts as a table."""
    sizes: dict[str, int] = defaultdict(int)
    for section in elf.sections:
        if section.is_data and not DERIVED_SECTION.match(section.name):
            sizes[section.name] += section.size
    return sizes


def alternatives(elf: Elf) -> list[bytes]:
    """Features and lengths of the alternatives, sorted: their addresses are relocations."""
    data = b"".join(elf.content(s) for s in elf.sections if s.name == ".altinstructions")
    return sorted(data[at:at + ALTERNATIVE] for at in range(0, len(data), ALTERNATIVE))


def compare_data(a: Elf, b: Elf) -> Iterator[str]:
    """The data symbols that differ, then the sections whose size no symbol explains, and the
    alternatives."""
    left, right = data_symbols(a), data_symbols(b)
    explained = set()
    for name in sorted(left.keys() | right.keys()):
        one, other = left.get(name, []), right.get(name, [])
        if one != other:
            explained |= {place for place, _ in one + other}
            yield f"{name}: data size: A: {places(one)} B: {places(other)}"
    tables, other_tables = table_sizes(a), table_sizes(b)
    for name in sorted((tables.keys() | other_tables.keys()) - explained):
        if tables.get(name, 0) != other_tables.get(name, 0):
            yield f"{name}: section size: A: {tables.get(name, 0)} B: {other_tables.get(name, 0)}"
    for one, other in zip(alternatives(a), alternatives(b), strict=False):
        if one != other:
            yield f".altinstructions: A: {one.hex()} B: {other.hex()}"


def places(symbols: Iterable[tuple[str, int]]) -> str:
    """Sizes with their sections, for the report."""
    return ", ".join(f"{size} ({section})" for section, size in symbols) or "absent"


def compare_object(job: tuple[str, Path, Path]) -> tuple[int, list[str]]:
    """Number of functions compared in one object, and its differences."""
    name, path_a, path_b = job
    a = Elf(path_a)
    if a.data == path_b.read_bytes():
        return len(a.functions()), []
    b = Elf(path_b)
    if a.wide != b.wide:
        return 0, [f"{name}: object: A: ELF{64 if a.wide else 32} B: ELF{64 if b.wide else 32}"]
    halves = (compare_code, compare_data)
    found = [f"{name}: {finding}" for half in halves for finding in half(a, b)]
    return max(len(a.functions()), len(b.functions())), found


def is_aggregate(path: Path) -> bool:
    """Whether kbuild's command file says that ld -r made the object from others."""
    try:
        with open(path.with_name(f".{path.name}.cmd"), encoding="utf-8", errors="replace") as file:
            words = file.readline().split()
    except OSError:
        return False
    return "-r" in words and any(re.match(r"(.*[/-])?ld(\.\w+)?$", w) for w in words[2:4])


def find_objects(root: Path) -> set[str]:
    """The objects below root that are compiled for the kernel, relative to it."""
    if not root.is_dir():
        raise BadInput(f"{root} is not a directory")
    found: set[str] = set()
    for directory, below, files in os.walk(root):
        here = Path(directory).relative_to(root)
        below[:] = [d for d in below if not HOST_DIRECTORY.match((here / d).as_posix())]
        for file in files:
            name = (here / file).as_posix()
            if not file.endswith(".o") or SKIPPED_NAME.match(file) or name in DERIVED:
                continue
            if not is_aggregate(Path(directory, file)):
                found.add(name)
    if not found:
        raise BadInput(f"no object in {root}")
    return found


def on_one_side(a: set[str], b: set[str]) -> list[str]:
    """A finding for each object that only one build has."""
    return [f"{name}: object: {sides(name in a, name in b)}" for name in a ^ b]


def compare_pairs(pairs: list[tuple[str, Path, Path]], jobs: int) -> tuple[int, list[str]]:
    """How many functions the pairs of objects have, and all differences."""
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        results = list(pool.map(compare_object, pairs, chunksize=8))
    return sum(count for count, _ in results), [line for _, found in results for line in found]


def compare(root_a: Path, root_b: Path, jobs: int) -> int:
    """Print the differences of two builds and the closing line; the exit status."""
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


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description="Compare the machine code of two kernel builds, function by function.",
        epilog="Exit status: 0 no difference, 1 differences, 2 nothing could be compared.")
    parser.add_argument("a", metavar="A", type=Path, help="directory of .o files (O=)")
    parser.add_argument("b", metavar="B", type=Path, help="the same, to compare with A")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count() or 1,
                        help="objects compared at a time (default: %(default)s)")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    return options


def main() -> int:
    """Entry point."""
    options = arguments()
    try:
        return compare(options.a, options.b, options.jobs)
    except (BadInput, OSError) as error:
        print(f"identity: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
