#!/usr/bin/env python3
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
3. All other objects are compiled in both states, by kbuild's command for them, and their machine
   code is compared (compare.py). Each declaration that was left out to find two texts the same is
   in one of these objects at least. Linker scripts are compared as text.

__LINE__ is fixed, and both states are built at one place, state/, by moving them there: neither
paths nor the lines that a hunk moves reach an object. A PASS is kept (selftests/proofs.py).

Environment: CF_ROOT the repository, CF_BUILD or BUILD where to build, KDIR the tree (default
BUILD/linux), QUEUE the directory of the patches, CC, LLVM, KCFLAGS as for scripts/kernel.sh, JOBS,
FRESH=1. --all compiles every object. Exit status: 0 the same or no gated patch, 1 differences or a
failed build, 2 nothing could be compared.
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
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
sys.dont_write_bytecode = True

from selftests import proofs  # noqa: E402
from selftests.identity import compare, texts  # noqa: E402
from selftests.queue.mover import Mover, States, fingerprint, listing  # noqa: E402
from selftests.queue.patchqueue import GATE, Queue, load_queue  # noqa: E402
from selftests.queue.proc import must  # noqa: E402
from selftests.queue.scratch import Sources  # noqa: E402

FRAGMENTS = ("small", "all-off")
# What a verdict depends on: files below the repository, files below selftests/
CONFIGURATION = ("configs/*.config", "selftests/*/*.config", "selftests/groups.py")
CONFIGURATION += ("scripts/kernel.sh", "scripts/lib.sh")
CODE = ("identity/cc.sh", "identity/compare.py", "identity/identity.py", "identity/texts.py")
CODE += ("queue/mover.py", "queue/patchqueue.py", "queue/proc.py", "queue/scratch.py", "proofs.py")
SPACE_MIB = 6000
FIXED_LINE = "#pragma GCC system_header\n#undef __LINE__\n#define __LINE__ 1\n"
# The symbols that arch/x86/boot takes from vmlinux
VMLINUX = "".join(
    f".globl {name}\n{name}: .long 0\n"
    for name in ("_text", "__start_rodata", "_sinittext", "__inittext_end", "__bss_start", "_end")
)
OBJTOOL = "tools/objtool/objtool"
COMMAND = re.compile(r"savedcmd_\S+ := (.*)")
INCLUDES = re.compile(r"\.(?:incbin|include)\b")
# What lets the compiler keep what nothing uses
KEEPS = re.compile(r"-fno-toplevel-reorder|-fkeep-|(?<!\S)-O0(?!\S)")


class Failure(Exception):
    """What went wrong, in one line."""


@dataclass(frozen=True)
class Settings:
    """Where things are, how to build."""

    root: Path
    patches: Path
    tree: Path
    work: Path
    jobs: int
    compiler: str

    @classmethod
    def from_env(cls) -> Settings:
        """Return what the environment says, with the defaults of scripts/lib.sh."""
        env = os.environ
        root = Path(env.get("CF_ROOT") or HERE.parents[1]).resolve()
        build = Path(os.path.abspath(env.get("CF_BUILD") or env.get("BUILD") or root / "build"))
        llvm = env.get("LLVM", "")
        clang = f"clang{llvm if llvm.startswith('-') else ''}"
        compiler = env.get("CC") or (clang if llvm else "gcc")
        return cls(
            root,
            Path(os.path.abspath(env.get("QUEUE") or root / "patches")),
            Path(env.get("KDIR") or build / "linux").resolve(),
            build / "identity",
            int(env.get("JOBS") or os.cpu_count() or 1),
            compiler,
        )

    @property
    def state(self) -> Path:
        """The place at which both states are built."""
        return self.work / "state"

    @property
    def out(self) -> Path:
        """The output directory of the state that is at its place."""
        return self.state / "out/identity"


def say(text: str) -> None:
    """Print a line at once."""
    print(f"identity: {text}", flush=True)


def configuration(settings: Settings) -> dict[str, str]:
    """Return all files that decide how the kernel is configured, for a key."""
    return proofs.contents(settings.root, *CONFIGURATION)


def verdict_key(settings: Settings, queue: Queue, sources: Sources, options: str) -> str:
    """Return the name of the verdict: everything that it depends on."""
    series = [[group.gated, patch.diff] for group in queue.groups for patch in group.patches]
    originals = [sources.original(path) for path in queue.paths]
    return proofs.key(
        series=series,
        tree=fingerprint(listing(settings.tree), set(queue.paths)),
        originals=[proofs.content(path) if path else "none" for path in originals],
        configuration=configuration(settings),
        code=proofs.contents(HERE.parent, *CODE),
        tools=proofs.toolchain(*settings.compiler.split()),
        variables=[settings.compiler, proofs.variables(), options],
    )


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock of one run in one build directory; raises Failure when another holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Failure(
                f"another run works in {path.parent}; wait for it or use BUILD=another-directory"
            ) from error
        yield


@contextmanager
def at_its_place(settings: Settings, name: str) -> Iterator[None]:
    """Move a state to the place where it is built, and back again."""
    home = settings.work / name
    home.mkdir(exist_ok=True)
    (home / "name").write_text(name)
    home.rename(settings.state)
    try:
        yield
    finally:
        settings.state.rename(home)


def put_back(settings: Settings) -> None:
    """After a run that was cut off: move the state that is still at its place back."""
    if settings.state.is_dir():
        home = settings.work / (settings.state / "name").read_text()
        shutil.rmtree(home, ignore_errors=True)
        settings.state.rename(home)


def environment(settings: Settings, preprocess: bool = True) -> dict[str, str]:
    """Return the environment of a build of the state that is at its place."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("GROUP", "KDIR", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CF_OUT", "CF_KERNEL")
    }
    line = settings.work / "line.h"
    env |= {
        "CF_ROOT": str(settings.root),
        "BUILD": str(settings.state),
        "CF_BUILD": str(settings.state),
        "CF_TREE": str(settings.state / "linux"),
        "CC": str(HERE / "cc.sh"),
        "JOBS": str(settings.jobs),
        "IDENTITY_CC": settings.compiler,
        "KCFLAGS": f"{os.environ.get('KCFLAGS', '')} -include {line}".strip(),
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
        "KBUILD_BUILD_USER": "identity",
        "KBUILD_BUILD_HOST": "identity",
        "KBUILD_BUILD_VERSION": "1",
        "SOURCE_DATE_EPOCH": "0",
        "TARGETS": "vmlinux_a KBUILD_MODULES=y",
        "LC_ALL": "C",
    }
    if preprocess:
        env["IDENTITY_STUB"] = str(settings.work / "stub.o")
    return env


def run(settings: Settings, command: str, log: Path, what: str, stdin: str = "") -> None:
    """Run a command of the build, its output to a file; raises Failure.

    kbuild takes no path with a blank: the command is split at those.
    """
    words, env = command.split(), environment(settings)
    done = subprocess.run(words, env=env, input=stdin, capture_output=True, text=True, check=False)
    log.write_text(done.stdout + done.stderr)
    if done.returncode:
        raise Failure(f"{what} failed; see {log}")


def helpers(settings: Settings) -> None:
    """Make the header that fixes __LINE__, the empty object and the stand-in for vmlinux."""
    settings.work.mkdir(parents=True, exist_ok=True)
    line = settings.work / "line.h"
    if not line.is_file():
        line.write_text(FIXED_LINE)
    cc, log, vmlinux = settings.compiler, settings.work / "helpers.log", settings.work / "vmlinux"
    if not vmlinux.is_file():
        run(settings, f"{cc} -c -x c -o {settings.work}/stub.o -", log, "compiling nothing")
        run(settings, f"{cc} -c -x assembler -o {vmlinux}.o -", log, "assembling", VMLINUX)
        run(settings, f"ld -e 0 -o {vmlinux} {vmlinux}.o", log, "linking")


def begin_as(other: Path, state: Path) -> None:
    """Make a state a copy of another, tree and all: what a move changes is newer then."""
    for name in ("linux", "out"):
        shutil.rmtree(state / name, ignore_errors=True)
    must(["cp", "-al", other / "linux", state])
    must(["cp", "-a", other / "linux.from", other / "out", state])


def build(settings: Settings, states: States, sources: Sources, name: str, number: int) -> None:
    """Bring a state to its patches and let kbuild preprocess it.

    Args: its name, how many patches it has.  Raises Failure, RuntimeError.
    """
    made_of = proofs.key(
        state=states.trees[number],
        tree=fingerprint(listing(settings.tree), set(states.paths)),
        configuration=configuration(settings),
    )
    stamp, tree = settings.state / "made-of", settings.state / "linux"
    before = settings.work / name / stamp.name
    if before.is_file() and before.read_text() == made_of:
        return
    say(f"preprocessing {name}")
    with at_its_place(settings, name):
        stamp.unlink(missing_ok=True)
        if name != "ungated" and not settings.out.is_dir():
            begin_as(settings.work / "ungated", settings.state)
        mover = Mover(states, sources, tree)
        if mover.prepare():
            shutil.rmtree(settings.state / "out", ignore_errors=True)
        mover.go(number)
        command = [str(settings.root / "scripts/kernel.sh"), "identity", *FRAGMENTS]
        if subprocess.run(command, env=environment(settings), check=False).returncode:
            raise Failure(f"the build of {name} failed")
        if not settings.out.is_dir():
            raise Failure(f"scripts/kernel.sh left no {settings.out}")
        for image in ("vmlinux", "vmlinux.unstripped"):
            if not (settings.out / image).is_file():
                shutil.copy(settings.work / "vmlinux", settings.out / image)
        make = f"make --no-print-directory -C {settings.out} -f {tree}/Makefile -j{settings.jobs}"
        make += f" CC={HERE}/cc.sh" + (
            f" LLVM={os.environ['LLVM']}" if "LLVM" in os.environ else ""
        )
        # What kbuild makes when it links vmlinux and after
        for target in ("init/version-timestamp.o", "bzImage"):
            log = settings.work / f"{name}-{Path(target).name}.log"
            run(settings, f"{make} -o vmlinux {target}", log, f"{target} of {name}")
        stamp.write_text(made_of)


def saved_command(path: Path) -> str:
    """Return kbuild's command for an object, as the shell takes it, '' when there is none."""
    try:
        first = path.with_name(f".{path.name}.cmd").read_text(errors="replace").split("\n", 1)[0]
    except OSError:
        return ""
    match = COMMAND.match(first)
    return match[1].replace("$(pound)", "#").replace("$$", "$") if match else ""


def text_of(path: Path) -> bytes | None:
    """Return an object's preprocessed text, packed, None when it was compiled."""
    try:
        return path.with_name(f".{path.name}.text.gz").read_bytes()
    except FileNotFoundError:
        return None


def same_text(job: tuple[Path, Path, bool]) -> tuple[bool, frozenset[str]]:
    """Return whether two objects are the same by their texts, and a hash of each item left out.

    Args: the two objects, whether both sides have the same objtool.
    """
    a, b, same_objtool = job
    packed_a, packed_b, command = text_of(a), text_of(b), saved_command(a)
    if packed_a is None or packed_b is None or not command or command != saved_command(b):
        return False, frozenset()
    if OBJTOOL in command and not same_objtool:
        return False, frozenset()
    text_a = gzip.decompress(packed_a).decode(errors="surrogateescape")
    if INCLUDES.search(text_a):
        return False, frozenset()
    if packed_a == packed_b:
        return True, frozenset()
    text_b = gzip.decompress(packed_b).decode(errors="surrogateescape")
    if KEEPS.search(command) or INCLUDES.search(text_b) or not command.rstrip().endswith(".c"):
        return text_a == text_b, frozenset()
    same, items = texts.same(text_a, text_b)
    return same, frozenset(
        hashlib.sha256(item.encode(errors="surrogateescape")).hexdigest()[:16] for item in items
    )


def to_compile(settings: Settings, names: list[str], everything: bool) -> list[str]:
    """Return those objects of both sides that cannot be the same by their texts alone."""
    a, b = (settings.work / state / "out/identity" for state in ("ungated", "whole"))
    preprocessed = [name for name in names if text_of(a / name) and text_of(b / name)]
    if everything:
        return preprocessed
    same_objtool = proofs.content(a / OBJTOOL) == proofs.content(b / OBJTOOL)
    jobs = [(a / name, b / name, same_objtool) for name in preprocessed]
    with ProcessPoolExecutor(settings.jobs) as pool:
        found = dict(zip(preprocessed, pool.map(same_text, jobs, chunksize=8)))
    chosen = [name for name in preprocessed if not found[name][0]]
    # Each item that was left out somewhere is in an object that is compiled
    seen: set[str] = set().union(*(found[name][1] for name in chosen))
    for name in preprocessed:
        if found[name][1] - seen:
            chosen.append(name)
            seen |= found[name][1]
    return sorted(chosen)


def compile_objects(settings: Settings, state: str, names: list[str]) -> None:
    """Compile objects of a state by kbuild's commands; they go to STATE/objects. Raises Failure."""
    say(f"compiling {len(names)} objects of {state}")
    env = environment(settings, preprocess=False)
    out, objects, stamp = settings.out, settings.state / "objects", settings.state / "made-of"

    def one(name: str) -> None:
        log, target = objects / f"{name}.log", objects / name
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "w", encoding="utf-8") as file:
            command = saved_command(out / name)
            done = subprocess.run(command, shell=True, cwd=out, env=env, stderr=file, check=False)
        if done.returncode:
            raise Failure(f"{state}: {name} does not compile; see {settings.work / state}/objects")
        (out / name).rename(target)
        shutil.copy(settings.work / "stub.o", out / name)

    with at_its_place(settings, state):
        made_of = stamp.read_text()
        stamp.unlink()
        shutil.rmtree(objects, ignore_errors=True)
        with ThreadPoolExecutor(settings.jobs) as pool:
            list(pool.map(one, names))
        stamp.write_text(made_of)


def linker_scripts(out: Path) -> dict[str, list[str]]:
    """Return the words of each linker script, by path."""
    found = {path.relative_to(out).as_posix(): path for path in out.rglob("*.lds")}
    return {
        name: re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S).split()
        for name, path in found.items()
    }


def findings_of(settings: Settings, everything: bool) -> tuple[list[str], str]:
    """Compare the two states; returns what differs and the closing line."""
    roots = {state: settings.work / state / "out/identity" for state in ("ungated", "whole")}
    in_a, in_b = (compare.find_objects(root) for root in roots.values())
    for root, objects in zip(roots.values(), (in_a, in_b)):
        if not objects:
            raise compare.BadInput(f"no object in {root}")
    found = [f"{name}: object: {compare.sides(name in in_a, name in in_b)}" for name in in_a ^ in_b]
    both = sorted(in_a & in_b)
    compiled = to_compile(settings, both, everything)
    for state in roots:
        compile_objects(settings, state, compiled)
    a, b = roots.values()
    stubs = {name for name in both if text_of(a / name) or text_of(b / name)}
    found += [
        f"{name}: object: preprocessed on one side only"
        for name in stubs
        if not (text_of(a / name) and text_of(b / name))
    ]
    pairs = [(name, a / name, b / name) for name in both if name not in stubs]
    pairs += [
        (name, settings.work / "ungated/objects" / name, settings.work / "whole/objects" / name)
        for name in compiled
    ]
    functions = 0
    with ProcessPoolExecutor(settings.jobs) as pool:
        for count, lines in pool.map(compare.compare_object, pairs, chunksize=8):
            functions += count
            found += lines
    scripts_a, scripts_b = linker_scripts(a), linker_scripts(b)
    found += [
        f"{name}: linker script: differs"
        for name in sorted(scripts_a.keys() | scripts_b.keys())
        if scripts_a.get(name) != scripts_b.get(name)
    ]
    return found, (
        f"{len(in_a | in_b)} objects, {len(stubs) - len(compiled)} the same by their text, "
        f"{functions} functions of the others compared, {len(found)} differ"
    )


def check(settings: Settings, everything: bool) -> int:
    """Do what the first comment says; returns the exit status."""
    series = settings.patches / "series"
    if not series.is_file():
        raise Failure(f"no series file in {settings.patches}")
    if GATE not in series.read_text().splitlines():
        raise Failure(f"the series has no line '{GATE}'")
    queue = load_queue(settings.patches.parent)
    there = {patch.name for patch in queue.patches}
    if missing := [name for name in queue.names if name not in there]:
        raise Failure(f"series names {missing[0]}, but there is no such file in {settings.patches}")
    ungated = sum(len(group.patches) for group in queue.groups if not group.gated)
    if ungated == len(queue.patches):
        say("no gated patches in the series, nothing to compare")
        return 0
    if not settings.tree.is_dir():
        raise Failure(f"no kernel tree at {settings.tree} (make apply makes it)")
    if (settings.tree / ".cache-footprint.undo").exists():
        raise Failure(f"a push onto {settings.tree} is under way or was cut off: make apply first")
    sources = Sources(settings.tree, None)
    verdicts = proofs.Proofs("identity")
    name = verdict_key(settings, queue, sources, "all" if everything else "")
    if known := verdicts.lookup(name):
        say(f"{known} (cached)")
        return 0
    with lock(settings.work.parent / ".lock-identity"):
        settings.work.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(settings.work).free < SPACE_MIB << 20:
            raise Failure(f"make identity needs {SPACE_MIB} MiB of disk in {settings.work}")
        put_back(settings)
        forget_others(settings)
        helpers(settings)
        states = States(queue, sources, settings.work / "store")
        build(settings, states, sources, "ungated", ungated)
        build(settings, states, sources, "whole", len(queue.patches))
        found, line = findings_of(settings, everything)
    for finding in sorted(found):
        print(finding)
    say(line)
    # The patch files were read twice
    if not found and name == verdict_key(
        settings, load_queue(settings.patches.parent), sources, "all" if everything else ""
    ):
        verdicts.store(name, line)
    return 1 if found else 0


def forget_others(settings: Settings) -> None:
    """Remove the states of another toolchain: kbuild may not notice everything."""
    stamp = settings.work / "made-with"
    now = proofs.key(
        tools=proofs.toolchain(*settings.compiler.split()),
        code=proofs.contents(HERE, "cc.sh", "identity.py"),
        variables=proofs.variables(),
    )
    if not stamp.is_file() or stamp.read_text() != now:
        shutil.rmtree(settings.work)
        settings.work.mkdir()
        stamp.write_text(now)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--all", action="store_true", help="compile every object, whatever its text"
    )
    options = parser.parse_args()
    try:
        return check(Settings.from_env(), options.all)
    except compare.BadInput as error:
        print(f"identity: error: {error}", file=sys.stderr)
        return 2
    except (EOFError, Failure, OSError, RuntimeError, ValueError) as error:
        print(f"identity: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
