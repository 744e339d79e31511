# SPDX-License-Identifier: GPL-2.0
# Compares the object files of two kernel builds as bytes.
"""Compare the object files of two kernel builds.

A and B are O= directories. Every object that kbuild compiled for the kernel in either is compared:

1. As bytes, after objcopy has numbered the names that the compiler or the preprocessor counts
   (.constprop.N, __func__.N, __UNIQUE_ID_xxxN, initcalls) in the order of the symbol table.
2. gcc may emit the same functions and variables in another order. Such an object is compared
   without order: the symbols (section, size, binding), the sections (size, alignment, flags, the
   bytes of data), and objtool's checksum of each function and variable (objtool klp checksum). This
   does not show to which of two equal instructions a fixup returns, and of code without a symbol
   only the size, unless it is an alternative. Each object that needs this step is printed.
   Assembly and 32-bit code never come here.

Line numbers and paths are bytes, too: both sides must be built with __LINE__ fixed, at one place.
objtool has klp if libxxhash-dev was there when kbuild built it.
"""

import os
import re
import subprocess
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

# Objects that hold the configuration or the linked image, not code of their own
DERIVED = {
    "kernel/configs.o": "the text of .config, which names the new options",
    "kernel/kheaders.o": "an archive of the headers",
    "arch/x86/boot/compressed/piggy.o": "the compressed image",
    "arch/x86/boot/compressed/misc.o": "addresses of the linked image",
    "arch/x86/boot/header.o": "addresses of the linked image",
}
COMMAND = re.compile(r"savedcmd_\S+ := (.*)")
OBJTOOL = Path("tools/objtool/objtool")

NUMBERING = (
    (re.compile(r"\.(constprop|isra|part|cold|lto_priv|llvm)\.\d+"), r".\1"),
    (re.compile(r"(__UNIQUE_ID_.*?)_?\d+(\.\d+)*$"), r"\1"),
    (re.compile(r"(__initcall__kmod_\w+?__)\d+_\d+_"), r"\1"),
    (re.compile(r"(__BTF_ID__\w+?__)\d+$"), r"\1"),
    (re.compile(r"(\.\d+)+$"), ""),
)
# What objdump prints for -t, -h, -s and before what stands in a section or function
SYMBOL = re.compile(r"(?m)^([0-9a-f]+) (.{7}) (\S+)\t([0-9a-f]+) (?:\.\w+ )?(\S+)$")
SECTION = re.compile(r"(?m)^ *\d+ (\S+) +([0-9a-f]+)  .*  (2\*\*\d+)\n +(.*)$")
CONTENTS = re.compile(r"(?m)^Contents of section (\S+):\n((?: .*\n)*)")
HEADING = re.compile(r"<(.+)>:$|section (\S+):$|\[(\S+)\]:$")
# What objtool adds to an object: address and checksum of each function and variable
CHECKSUMS = ".discard.sym_checksum"


class BadInput(Exception):
    """What was given cannot be compared; the text is the one line to print."""


class Symbol(NamedTuple):
    """One line of objdump -t; flags[5] is d for a section, flags[6] F for code, O for data."""

    value: str
    flags: str
    section: str
    size: str
    name: str


class Result(NamedTuple):
    """What the comparison of one object says."""

    functions: int
    differences: list[str]
    reordered: bool = False


def run(*command: object) -> str:
    """Run a tool and return what it prints; raises BadInput."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, check=False, text=True,
                              errors="replace", env={**os.environ, "LC_ALL": "C"})
    except OSError as error:
        raise BadInput(f"{words[0]} does not run: {error.strerror}") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise BadInput(f"{' '.join(words)} fails: {lines[-1]}")
    return done.stdout


def objdump(path: Path, *options: str) -> str:
    """Return what objdump prints of an object, without its path; raises BadInput."""
    text = run("objdump", *options, path)
    return text.lstrip().removeprefix(f"{path}:").lstrip()


def plain_name(name: str) -> str:
    """Return name without the numbers that compiler and preprocessor count."""
    for pattern, replacement in NUMBERING:
        name = pattern.sub(replacement, name)
    return name


def symbols(path: Path) -> list[Symbol]:
    """Return the symbols of an object in the order of its table."""
    return [Symbol(*match.groups()) for match in SYMBOL.finditer(objdump(path, "-t"))]


def renumber(path: Path, target: Path) -> bytes:
    """Write an object to target with the counted names in order, and return its bytes."""
    names: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for name in (symbol.name for symbol in symbols(path) if symbol.flags[5] != "d"):
        if (plain := plain_name(name)) != name and name not in names:
            names[name] = f"{plain}.{seen[plain]}"
            seen[plain] += 1
    table = target.with_suffix(".names")
    table.write_text("".join(f"{old} {new}\n" for old, new in names.items()))
    run("objcopy", f"--redefine-syms={table}", path, target)
    return target.read_bytes()


def order(path: Path) -> list[tuple[str, str]]:
    """Return section and name of each function and variable, by address."""
    named = sorted((s.section, s.value, plain_name(s.name)) for s in symbols(path)
                   if s.flags[6] in "FO")
    return [(section, name) for section, _, name in named]


def is_compiled(path: Path) -> bool:
    """Return whether an object is 64-bit code from a C file."""
    text = objdump(path, "-t")
    return text.startswith("file format elf64-") and bool(re.search(r"(?m) df \*ABS\*.*\.c$", text))


def first_difference(a: Path, b: Path) -> str:
    """Return the first line that objdump prints otherwise for b, after where it stands."""
    for option in ("-dr", "-sr", "-h", "-t"):
        heading = f"objdump {option}"
        texts = (objdump(path, option, "-z", "--no-show-raw-insn").splitlines() for path in (a, b))
        for one, other in zip_longest(*texts, fillvalue="nothing"):
            if one != other:
                return f"{heading}: A: {' '.join(one.split())} B: {' '.join(other.split())}"
            if match := HEADING.search(one):
                heading = str(match[match.lastindex or 0])
    return "bytes"


def symbol_lines(path: Path) -> Counter[str]:
    """Return the symbols of an object, without order."""
    return Counter(f"{plain_name(s.name)}: symbol, size 0x{int(s.size, 16):x} in {s.section}"
                   f" ({' '.join(s.flags.split())})" for s in symbols(path))


def section_lines(path: Path) -> Counter[str]:
    """Return the sections of an object and the bytes of data in them, without order."""
    lines: Counter[str] = Counter()
    code = set()
    for name, size, alignment, flags in SECTION.findall(objdump(path, "-h")):
        lines[f"{name}: section, size 0x{int(size, 16):x}, aligned {alignment}, {flags}"] += 1
        if "CODE" in flags:
            code.add(name)
    for name, text in CONTENTS.findall(objdump(path, "-s")):
        if name not in code:
            rows = (line.split(" ", 2)[2][:35] for line in text.splitlines())
            data = bytes(sorted(bytes.fromhex("".join(rows))))
            lines[f"{name}: hash of its sorted bytes, {sha256(data).hexdigest()[:16]}"] += 1
    return lines


def checksum_lines(objtool: Path, path: Path) -> Counter[str]:
    """Return objtool's checksums of functions and variables, without order; raises BadInput.

    objtool adds them to the object.
    """
    try:
        run(objtool, "klp", "checksum", path)
    except BadInput as error:
        if "does not run" in str(error) or "not implemented" in str(error):
            raise BadInput(f"{objtool} has no klp, which functions in another order need: apt-get "
                           "install libxxhash-dev, and let kbuild make objtool again") from error
        raise
    table = path.with_suffix(".checksums")
    run("objcopy", f"--dump-section={CHECKSUMS}={table}", path, os.devnull)
    names = re.findall(r"(?m)^[0-9a-f]+ R_\S+ +([^\s+]+)", objdump(path, "-r", "-j", CHECKSUMS))
    data = table.read_bytes()
    if not names or len(data) != 16 * len(names):
        raise BadInput(f"{objtool} makes {len(data)} bytes of {len(names)} checksums for {path}")
    lines = Counter(f"{plain_name(name)}: checksum {data[16 * i + 8:16 * i + 16].hex()}"
                    for i, name in enumerate(names))
    # A symbol at the same address is an alias. What has no checksum is a difference in any case
    there = {(s.section, s.value) for s in symbols(path) if s.name in names}
    return lines + Counter(f"{s.name}: no checksum in {path.name}" for s in symbols(path)
                           if s.flags[6] in "FO" and s.section != "*UND*" and int(s.size, 16)
                           and (s.section, s.value) not in there)


def compare_without_order(a: Path, b: Path, objtool: Path) -> list[str]:
    """Return how objects of another order differ, in the first of three lists that does."""
    for lines in (symbol_lines, section_lines, partial(checksum_lines, objtool)):
        left, right = lines(a), lines(b)
        if left != right:
            return sorted([f"{line}: only in A" for line in left - right]
                          + [f"{line}: only in B" for line in right - left])
    return []


def compare_object(objtool: Path, job: tuple[str, Path, Path]) -> Result:
    """Compare the two objects of one name; raises BadInput."""
    name, a, b = job
    functions = sum(symbol.flags[6] == "F" for symbol in symbols(a))
    if a.read_bytes() == b.read_bytes():
        return Result(functions, [])
    with TemporaryDirectory() as work:
        one, other = Path(work, "a.o"), Path(work, "b.o")
        if renumber(a, one) == renumber(b, other):
            return Result(functions, [])
        if order(one) == order(other) or not (is_compiled(one) and is_compiled(other)):
            return Result(functions, [f"{name}: {first_difference(one, other)}"])
        lines = compare_without_order(one, other, objtool)
    return Result(functions, [f"{name}: {line}" for line in lines], not lines)


def saved_command(path: Path) -> str:
    """Return kbuild's command for an object, as the shell takes it, '' when there is none."""
    try:
        first = path.with_name(f".{path.name}.cmd").read_text(errors="replace").split("\n", 1)[0]
    except OSError:
        return ""
    match = COMMAND.match(first)
    return match[1].replace("$(pound)", "#").replace("$$", "$") if match else ""


def find_objects(root: Path) -> set[str]:
    """Return the objects below root that are compiled for the kernel, relative to it."""
    objects = {path.relative_to(root).as_posix() for path in root.rglob("*.o")
               if {"-D__KERNEL__", "-c"} <= set(saved_command(path).split())}
    objects = {name for name in objects - DERIVED.keys() if not name.endswith(".mod.o")}
    if not objects:
        raise BadInput(f"no object in {root}")
    return objects


def on_one_side(a: set[str], b: set[str]) -> list[str]:
    """Return a line for each object that only one build has."""
    return [f"{name}: object: only in {'A' if name in a else 'B'}" for name in a ^ b]


def compare_pairs(pairs: list[tuple[str, Path, Path]], jobs: int,
                  objtool: Path) -> tuple[int, list[str]]:
    """Return how many functions the pairs of objects have, and all differences."""
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        results = list(pool.map(partial(compare_object, objtool), pairs, chunksize=8))
    for (name, _, _), result in zip(pairs, results, strict=True):
        if result.reordered:
            print(f"identity: {name}: in another order, and the same by objtool's checksums")
    differences = [line for result in results for line in result.differences]
    return sum(result.functions for result in results), differences
