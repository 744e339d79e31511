# SPDX-License-Identifier: GPL-2.0
"""Off means off: with every option off, the gated patches change no instruction.

Compares base + ungated patches with the whole series, both configured with all options off:

1. kbuild runs for each state with a compiler (cc.sh) that only preprocesses. So kbuild decides
   which objects there are, with which flags, and makes the generated headers, the linker scripts
   and its own tools. Nothing is linked, since only objects are compared, but for what goes into an
   object as data (vDSO, real mode code): that is compiled, and so is arch/x86/boot, with a stand-in
   for vmlinux.
2. An object whose command and text are the same on both sides is the same. texts.py says when texts
   that are not equal are the same. An object that includes a file by the assembler never is.
3. All other objects are compiled in both states, by kbuild's command for them, and compared as
   bytes (compare.py). Each declaration that was left out to find two texts the same is in one of
   these objects at least. Linker scripts are compared as text.

__LINE__ is fixed, and both states are built at one place, state/, by moving them there: neither
paths nor the lines that a hunk moves reach an object. A PASS is kept (tools/verdicts.py). What
was preprocessed is kept, too, in CACHE/identity: kbuild preprocesses there what a patch changes,
whichever clone it is in.

Environment: tools/environment.py (CACHE is where it builds), CC, LLVM, KCFLAGS as for
tools/kernel.sh, FRESH=1. --all compiles every object. Exit status: 0 the same or no gated patch, 1
differences or a failed build, 2 nothing could be compared.
"""

from __future__ import annotations

import argparse
import fcntl
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools import environment, groups, verdicts
from tools.command import must
from tools.environment import ROOT
from tools.identity import compare, texts
from tools.series import GATE, Series
from tools.tree.working_copy import WorkingCopy
from tools.tree.sources import Sources, fingerprint, listing
from tools.tree.state import States

HERE = Path(__file__).resolve().parent
ENV = os.environ
TREE = environment.tree()
JOBS = environment.jobs()
LLVM = ENV.get("LLVM", "")
CLANG = f"clang{LLVM}" if LLVM.startswith("-") else "clang"
COMPILER = ENV.get("CC") or (CLANG if LLVM else "gcc")
WORK = environment.cache() / "identity"
# Its path is in the commands that kbuild keeps, so it is none of a clone
WRAPPER = WORK / "cc.sh"
# The place at which both states are built, and the output directory there
STATE = WORK / "state"
OUT = STATE / "out/identity"
# The two states, and where their output is when they are not built
SIDES = ("ungated", "whole")
OUT_A, OUT_B = (WORK / name / "out/identity" for name in SIDES)

# What a verdict depends on: files below the repository, and the code that is loaded
CONFIGURATION = ("configs/*.config", "selftests/*/*.config", "tools/groups.py")
CONFIGURATION += ("tools/kernel.sh", "tools/lib.sh")
CODE = [HERE / "cc.sh", HERE / "identity.py", *(Path(module.__file__) for name, module in sorted(
    sys.modules.items()) if name.startswith("tools.") and getattr(module, "__file__", None))]
SPACE_MIB = 3500
# objtool has klp, which compare.py may need, if this is there
XXHASH = Path("/usr/include/xxhash.h")
FIXED_LINE = "#pragma GCC system_header\n#undef __LINE__\n#define __LINE__ 1\n"
# The symbols that arch/x86/boot takes from vmlinux
VMLINUX = "".join(
    f".globl {name}\n{name}: .long 0\n"
    for name in ("_text", "__start_rodata", "_sinittext", "__inittext_end", "__bss_start", "_end")
)
OBJTOOL = compare.OBJTOOL.as_posix()
INCLUDES = re.compile(r"\.(?:incbin|include)\b")
# What lets the compiler keep what nothing uses
KEEPS = re.compile(r"-fno-toplevel-reorder|-fkeep-|(?<!\S)-O0(?!\S)")


class Failure(Exception):
    """What went wrong, in one line."""


def say(text: str) -> None:
    """Print a line at once."""
    print(f"identity: {text}", flush=True)


def base_key(series: Series) -> dict[str, Any]:
    """Return what each state depends on, but for the touched files."""
    return {
        "tree": fingerprint(listing(TREE), set(series.paths)),
        "configuration": verdicts.contents(ROOT, *CONFIGURATION),
    }


def verdict_key(series: Series, sources: Sources, everything: bool) -> str:
    """Return the name of the verdict: everything that it depends on."""
    originals = [sources.original(path) for path in series.paths]
    return verdicts.key(
        **base_key(series),
        series=[[group.gated, patch.diff] for group in series.groups for patch in group.patches],
        originals=[verdicts.content(path) if path else "none" for path in originals],
        code=[verdicts.content(path) for path in CODE],
        tools=verdicts.toolchain(*COMPILER.split()),
        variables=[COMPILER, verdicts.variables(), everything],
    )


@contextmanager
def alone() -> Iterator[None]:
    """Let one run at a time work in WORK; another one waits."""
    WORK.parent.mkdir(parents=True, exist_ok=True)
    with open(WORK.parent / ".lock-identity", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another run works in {WORK}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def at_its_place(name: str) -> Iterator[None]:
    """Move a state to the place where it is built, and back again."""
    home = WORK / name
    home.mkdir(exist_ok=True)
    (home / "name").write_text(name)
    home.rename(STATE)
    try:
        yield
    finally:
        STATE.rename(home)


def prepare() -> None:
    """Make the directory ready: no state at its place, none of another toolchain, the helpers.

    The helpers are the compiler that kbuild calls, the header that fixes __LINE__, an empty object
    and the stand-in for vmlinux.
    Raises Failure.
    """
    if shutil.disk_usage(WORK.parent).free < SPACE_MIB << 20:
        raise Failure(f"make identity needs {SPACE_MIB} MiB of disk in {WORK}")
    if STATE.is_dir():
        # A run was cut off
        home = WORK / (STATE / "name").read_text()
        shutil.rmtree(home, ignore_errors=True)
        STATE.rename(home)
    stamp = WORK / "made-with"
    # kbuild may not notice every change of these
    made_with = verdicts.key(
        tools=verdicts.toolchain(*COMPILER.split()),
        code=verdicts.contents(HERE, "cc.sh", "identity.py"),
        objtool_has_klp=verdicts.content(XXHASH),
        variables=verdicts.variables(),
    )
    if stamp.is_file() and stamp.read_text() == made_with:
        return
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    shutil.copy(HERE / "cc.sh", WRAPPER)
    (WORK / "line.h").write_text(FIXED_LINE)
    log, vmlinux = WORK / "helpers.log", WORK / "vmlinux"
    run(f"{COMPILER} -c -x c -o {WORK}/stub.o -", log, "compiling nothing")
    run(f"{COMPILER} -c -x assembler -o {vmlinux}.o -", log, "assembling", VMLINUX)
    run(f"ld -e 0 -o {vmlinux} {vmlinux}.o", log, "linking")
    stamp.write_text(made_with)


def variables(preprocess: bool = True) -> dict[str, str]:
    """Return the environment of a build of the state that is at its place."""
    unwanted = ("GROUP", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    return {
        **{name: value for name, value in ENV.items() if name not in unwanted},
        "BUILD": str(STATE),
        "KDIR": str(STATE / "linux"),
        "CC": str(WRAPPER),
        "JOBS": str(JOBS),
        "IDENTITY_CC": COMPILER,
        "KCFLAGS": f"{ENV.get('KCFLAGS', '')} -include {WORK / 'line.h'}".strip(),
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
        "KBUILD_BUILD_USER": "identity",
        "KBUILD_BUILD_HOST": "identity",
        "KBUILD_BUILD_VERSION": "1",
        "SOURCE_DATE_EPOCH": "0",
        "TARGETS": "vmlinux_a KBUILD_MODULES=y",
        "LC_ALL": "C",
        "IDENTITY_STUB": str(WORK / "stub.o") if preprocess else "",
    }


def run(command: str, log: Path, what: str, stdin: str = "") -> None:
    """Run a command of the build, its output to a file; raises Failure.

    kbuild takes no path with a blank: the command is split at those.
    """
    done = subprocess.run(command.split(), env=variables(), input=stdin, capture_output=True,
                          text=True, check=False)
    log.write_text(done.stdout + done.stderr)
    if done.returncode:
        raise Failure(f"{what} failed; see {log}")


def build(states: States, sources: Sources, name: str, number: int, base: dict[str, Any]) -> None:
    """Bring a state to its patches and let kbuild preprocess it.

    Args: its name, how many patches it has, base_key().  Raises Failure, RuntimeError.
    """
    made_of = verdicts.key(state=states.trees[number], **base)
    stamp, tree, first = STATE / "made-of", STATE / "linux", WORK / SIDES[0]
    before = WORK / name / stamp.name
    if before.is_file() and before.read_text() == made_of:
        return
    say(f"preprocessing {name}")
    with at_its_place(name):
        stamp.unlink(missing_ok=True)
        if name != first.name and not OUT.is_dir():
            # A copy of the other, tree and all: what a move changes is newer then
            for part in (tree, STATE / "out"):
                shutil.rmtree(part, ignore_errors=True)
            must(["cp", "-al", first / "linux", STATE])
            must(["cp", "-a", first / "linux.from", first / "out", STATE])
        copy = WorkingCopy(states, sources, tree)
        if copy.prepare():
            shutil.rmtree(STATE / "out", ignore_errors=True)
        copy.go(number)
        command = [str(ROOT / "tools/kernel.sh"), "identity", "small", "all-off"]
        if subprocess.run(command, env=variables(), check=False).returncode:
            raise Failure(f"the build of {name} failed")
        if not OUT.is_dir():
            raise Failure(f"tools/kernel.sh left no {OUT}")
        for image in ("vmlinux", "vmlinux.unstripped"):
            if not (OUT / image).is_file():
                shutil.copy(WORK / "vmlinux", OUT / image)
        make = f"make --no-print-directory -C {OUT} -f {tree}/Makefile -j{JOBS} CC={WRAPPER}"
        make += f" LLVM={LLVM}" if "LLVM" in ENV else ""
        # What kbuild makes when it links vmlinux and after
        for target in ("init/version-timestamp.o", "bzImage"):
            log = WORK / f"{name}-{Path(target).name}.log"
            run(f"{make} -o vmlinux {target}", log, f"{target} of {name}")
        stamp.write_text(made_of)


def text_of(path: Path) -> Path:
    """Return the file of an object's preprocessed text, packed; it is not there when compiled."""
    return path.with_name(f".{path.name}.text.gz")


def same_text(job: tuple[str, bool]) -> tuple[bool, frozenset[str]]:
    """Return whether an object's texts make the same object, and a hash of each item left out.

    Args: the object, whether both sides have the same objtool.
    """
    name, same_objtool = job
    command = compare.saved_command(OUT_A / name)
    if not command or command != compare.saved_command(OUT_B / name):
        return False, frozenset()
    a, b = (gzip.decompress(text_of(out / name).read_bytes()).decode(errors="surrogateescape")
            for out in (OUT_A, OUT_B))
    if OBJTOOL in command and not same_objtool or INCLUDES.search(a) or INCLUDES.search(b):
        return False, frozenset()
    if a == b or KEEPS.search(command) or not command.rstrip().endswith(".c"):
        return a == b, frozenset()
    same, items = texts.same(a, b)
    return same, frozenset(
        hashlib.sha256(item.encode(errors="surrogateescape")).hexdigest()[:16] for item in items
    )


def to_compile(names: list[str]) -> list[str]:
    """Return those preprocessed objects that cannot be the same by their texts alone."""
    same_objtool = verdicts.content(OUT_A / OBJTOOL) == verdicts.content(OUT_B / OBJTOOL)
    with ProcessPoolExecutor(JOBS) as pool:
        jobs = [(name, same_objtool) for name in names]
        found = dict(zip(names, pool.map(same_text, jobs, chunksize=8)))
    chosen = [name for name in names if not found[name][0]]
    # Each item that was left out somewhere is in an object that is compiled
    seen: set[str] = set().union(*(found[name][1] for name in chosen))
    for name in names:
        if found[name][1] - seen:
            chosen.append(name)
            seen |= found[name][1]
    return sorted(chosen)


def compile_objects(state: str, names: list[str]) -> None:
    """Compile objects of a state by kbuild's commands; they go to STATE/objects. Raises Failure."""
    say(f"compiling {len(names)} objects of {state}")
    env, objects, stamp = variables(preprocess=False), STATE / "objects", STATE / "made-of"

    def one(name: str) -> None:
        log, target = objects / f"{name}.log", objects / name
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "w", encoding="utf-8") as file:
            command = compare.saved_command(OUT / name)
            done = subprocess.run(command, shell=True, cwd=OUT, env=env, stderr=file, check=False)
        if done.returncode:
            raise Failure(f"{state}: {name} does not compile; see {WORK / state}/objects")
        (OUT / name).rename(target)
        shutil.copy(WORK / "stub.o", OUT / name)

    with at_its_place(state):
        made_of = stamp.read_text()
        stamp.unlink()
        shutil.rmtree(objects, ignore_errors=True)
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(one, names))
        stamp.write_text(made_of)


def linker_scripts(out: Path) -> dict[str, list[str]]:
    """Return the words of each linker script, by path."""
    return {
        path.relative_to(out).as_posix(): re.sub(r"(?s)/\*.*?\*/", " ", path.read_text()).split()
        for path in out.rglob("*.lds")
    }


def findings(everything: bool) -> tuple[list[str], str]:
    """Compare the two states; returns what differs and the closing line."""
    in_a, in_b = compare.find_objects(OUT_A), compare.find_objects(OUT_B)
    found = compare.on_one_side(in_a, in_b)
    both = sorted(in_a & in_b)
    there = {name: (text_of(OUT_A / name).is_file(), text_of(OUT_B / name).is_file())
             for name in both}
    found += [f"{name}: object: preprocessed on one side only"
              for name in both if len(set(there[name])) == 2]
    stubs = [name for name in both if any(there[name])]
    preprocessed = [name for name in both if all(there[name])]
    compiled = preprocessed if everything else to_compile(preprocessed)
    for state in SIDES:
        compile_objects(state, compiled)
    pairs = [(name, OUT_A / name, OUT_B / name) for name in both if not any(there[name])]
    pairs += [(name, *(WORK / state / "objects" / name for state in SIDES)) for name in compiled]
    functions, differences = compare.compare_pairs(pairs, JOBS, OUT_A / OBJTOOL)
    a, b = linker_scripts(OUT_A), linker_scripts(OUT_B)
    found += differences
    found += [f"{name}: linker script: differs"
              for name in a.keys() | b.keys() if a.get(name) != b.get(name)]
    return found, (
        f"{len(in_a | in_b)} objects, {len(stubs) - len(compiled)} the same by their text, "
        f"{functions} functions of the others compared, {len(found)} differ"
    )


def read_series() -> Series:
    """Return the series; raises Failure, OSError and ValueError when it is not whole."""
    series = groups.series()
    if GATE not in (series.root / "series").read_text().splitlines():
        raise Failure(f"the series has no line '{GATE}'")
    series.choose()  # names a patch without a file
    return series


def check(everything: bool) -> int:
    """Do what the first comment says; returns the exit status."""
    series = read_series()
    ungated = sum(len(group.patches) for group in series.groups if not group.gated)
    if ungated == len(series.patches):
        say("no gated patches in the series, nothing to compare")
        return 0
    if not TREE.is_dir():
        raise Failure(f"no kernel tree at {TREE} (make apply makes it)")
    if (TREE / ".cache-footprint.undo").exists():
        raise Failure(f"a push onto {TREE} is under way or was cut off: make apply first")
    sources = Sources(TREE)
    stored = verdicts.Verdicts("identity")
    name = verdict_key(series, sources, everything)
    if known := stored.lookup(name):
        say(f"{known} (cached)")
        return 0
    with alone():
        prepare()
        states, base = States(series, sources, WORK / "store"), base_key(series)
        for state, number in zip(SIDES, (ungated, len(series.patches))):
            build(states, sources, state, number, base)
        found, line = findings(everything)
    for finding in sorted(found):
        print(finding)
    say(line)
    # The patch files were read twice
    if not found and name == verdict_key(groups.series(), sources, everything):
        stored.store(name, line)
    return 1 if found else 0


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true",
                        help="compile every object, whatever its text")
    try:
        return check(parser.parse_args().all)
    except compare.BadInput as error:
        print(f"identity: error: {error}", file=sys.stderr)
        return 2
    except (EOFError, Failure, OSError, RuntimeError, ValueError) as error:
        print(f"identity: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
