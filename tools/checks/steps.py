# SPDX-License-Identifier: GPL-2.0
"""Each step of the series builds, and adds no warning of W=1 or sparse.

For each patch, the objects of the files it touches are built before and after it, in a copy of the
tree (working_copy.py); a warning counts as new when it is there after the step and was not before,
whatever its line. What the objects of a state warn of is stored (tools/verdicts.py) under the
contents of all touched files at that state: after a change, its step and those after it are built.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tools import environment, verdicts
from tools.command import last_lines, run
from tools.series import Patch, Series
from tools.tree.working_copy import WorkingCopy
from tools.tree.sources import Sources, fingerprint, listing
from tools.tree.state import States

# For all users of a header: those of the copies and of the patched code, in every directory
HEADER_OBJECTS = """
    arch/x86/kernel/process.o arch/x86/kernel/setup.o arch/x86/kernel/vmlinux.lds
    arch/x86/lib/usercopy_64.o fs/exec.o fs/read_write.o init/main.o kernel/fork.o
    kernel/sched/core.o kernel/sysctl.o lib/iov_iter.o mm/filemap.o mm/memory.o
""".split()
NOT_KERNEL = ("tools/", "Documentation/", "samples/", "scripts/", "rust/")
# What no object is made of, whatever reads it
NO_INPUT = ("Documentation/", "MAINTAINERS", "samples/", "tools/perf/", "tools/testing/")
WARNING = re.compile(r"(?:warning|error): ")
BUILDING = re.compile(r"^  (?:CC|AS|LDS|CC \[M\]|AS \[M\])\s+(\S+)$")
FAILED = re.compile(r"\*\*\* \[[^\]]*?:? ?([\w./-]+)\] Error")
# gcc refuses what is no constant; sparse 0.6.4 says it of each MODULE_LICENSE() and the like
NO_CONSTANT = "error: bad constant expression"
NO_SPARSE = "is not available or not up to date"
UNQUAL = "static inline int u(const int *q) { __typeof_unqual__(*q) v = *q; return v; }\n"
# kbuild builds these from arch/x86 and from arch/x86/lib; at the same time the two collide
TWICE = "arch/x86/lib/"


@dataclass
class Step:
    """What one patch did: builds that failed, warnings that are new."""

    patch: str
    broken: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def normalise(line: str, places: list[Path]) -> str:
    """Return a warning without line numbers and without our directories."""
    for place in places:
        line = line.replace(f"{place}/", "")
    line = re.sub(r"(?<=[\w.])(?::\d+)+(?=:)", "", line)
    return re.sub(r"\s+", " ", re.sub(r"\bline \d+\b", "line", line)).strip()


def split_output(text: str, places: list[Path]) -> dict[str, list[str]]:
    """Assign the warnings in make's output to the objects they came with.

    Returns object -> sorted normalised warnings, for each object built.
    """
    found: dict[str, set[str]] = {}
    current = ""
    for line in text.splitlines():
        if built := BUILDING.match(line):
            current = built[1]
            found[current] = set()
        elif WARNING.search(line) and current and NO_CONSTANT not in line:
            found[current].add(normalise(line, places))
    return {name: sorted(lines) for name, lines in found.items()}


def checker() -> str:
    """Return make's CHECK: sparse, with the one keyword old releases lack; '' if none works.

    The kernel turns C=1 off for a sparse that does not know __typeof_unqual__. As __typeof__ it
    keeps qualifiers that it should drop; the warnings of that are there before and after a step.
    """
    for words in (["sparse"], ["sparse", "-D__typeof_unqual__=__typeof__"]):
        if shutil.which("sparse") and "error" not in run([*words, "-"], stdin=UNQUAL).stdout:
            return " ".join(words)
    return ""


def touched_objects(patch: Patch) -> list[str]:
    """Return the objects a patch touches; any header brings the fixed list."""
    objects: set[str] = set()
    for path in (Path(diff.path) for diff in patch.files if not diff.path.startswith(NOT_KERNEL)):
        if path.name.endswith(".lds.S"):
            objects.add(str(path.with_suffix("")))
        elif path.suffix in (".c", ".S"):
            objects.add(str(path.with_suffix(".o")))
        elif path.suffix == ".h":
            objects.update(HEADER_OBJECTS)
    return sorted(objects)


def compiler(config: str) -> list[str]:
    """Return make's words for the compiler that a .config was made with.

    CC in the environment decides when it is set.
    """
    match = re.search(r'^CONFIG_CC_VERSION_TEXT="(.*)"$', config, re.M)
    text = match[1] if match else ""
    clang = re.search(r"clang version (\d+)", text)
    if clang:
        suffix = f"-{clang[1]}" if shutil.which(f"clang-{clang[1]}") else "1"
        return [f"LLVM={suffix}"]
    if os.environ.get("CC"):
        return [f"CC={os.environ['CC']}"]
    name = text.split(" ", 1)[0]
    return [f"CC={name}"] if name and shutil.which(name) else []


class Stepper:
    """The tree that is moved from step to step, and what is built in it."""

    def __init__(self, states: States, sources: Sources, config: Path, work: Path) -> None:
        """Args: the states, the sources, the .config of the built kernel, where to build."""
        self.config = config.read_text()
        self.copy = WorkingCopy(states, sources, work / "linux")
        self.out = work / "out"
        self.make = ["make", "-C", self.copy.tree, f"O={self.out}", *compiler(self.config)]
        self.make += ["KBUILD_BUILD_TIMESTAMP=1", f"-j{environment.jobs()}", "-k",
                      "--output-sync=target"]
        self.checker = checker()
        self.warnings: dict[str, list[str]] = {}  # of the last build of each object

    def prepare(self) -> None:
        """Make the tree, if need be; what was built of another one goes."""
        if self.copy.prepare():
            shutil.rmtree(self.out, ignore_errors=True)

    def go(self, number: int) -> str:
        """Bring the tree to the state after `number` patches.

        Returns '' or why the configuration could not be made.
        """
        self.out.mkdir(parents=True, exist_ok=True)
        self.copy.go(number)
        trial, target = self.out / ".config.step", self.out / ".config"
        trial.write_text(self.config)
        words = [word for word in self.make if word not in ("-k", f"-j{environment.jobs()}")]
        done = run([*words, f"KCONFIG_CONFIG={trial}", "olddefconfig"])
        if done.returncode:
            return f"olddefconfig: {last_lines(done.stdout)}"
        if not target.is_file() or target.read_bytes() != trial.read_bytes():
            trial.replace(target)
        return ""

    def build(self, objects: list[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
        """Let kbuild build objects, but for those that the step's configuration leaves out.

        What it does not build again has the warnings of its last build.
        Returns the warnings of each that builds, and why each other does not ('' for all of them).
        """
        out = {name for name in objects if self.left_out(name)}
        objects = [name for name in objects if name not in out]
        for name in set(objects) - self.warnings.keys():
            (self.out / name).unlink(missing_ok=True)
        check = ["C=1", f"CHECK={self.checker}"] if self.checker else []
        twice = [name for name in objects if name.startswith(TWICE)]
        once = [name for name in objects if name not in twice]
        done = [run([*self.make, *check, "W=1", *words, *names])
                for words, names in (([], once), (["-j1"], twice)) if names]
        text = "".join(one.stdout for one in done)
        status = any(one.returncode for one in done)
        self.warnings |= split_output(text, [self.copy.tree, self.out])
        failed = set(FAILED.findall(text)) if status else set()
        failed |= {name for name in objects if not (self.out / name).is_file()}
        broken = {name: f"{name} does not build: {first_error(text, name)}"
                  for name in objects if name in failed}
        if self.checker and NO_SPARSE in text:
            broken[""] = "make: the kernel's build refuses this sparse"
        elif status and not broken:
            broken[""] = f"make: {first_error(text, '')}"
        self.warnings = {name: lines for name, lines in self.warnings.items() if name not in broken}
        return ({name: self.warnings.get(name, []) for name in objects}
                | {name: [] for name in out}, broken)

    def left_out(self, name: str) -> bool:
        """Whether the Makefile of its directory leaves an object out of this configuration."""
        path = Path(name)
        makefile = self.copy.tree / path.parent / "Makefile"
        rule = rf"^obj-\$\((CONFIG_\w+)\)\s*\+=(?:.*\s)?{re.escape(path.name)}(?:\s|$)"
        found = makefile.is_file() and re.search(rule, makefile.read_text(), re.M)
        return bool(found) and f"\n{found[1]}=" not in f"\n{(self.out / '.config').read_text()}"


def sources_of(name: str) -> list[str]:
    """Return the possible sources of an object."""
    stem = name.removesuffix(".o")
    return [f"{name}.S"] if name.endswith(".lds") else [f"{stem}.c", f"{stem}.S"]


def first_error(text: str, name: str) -> str:
    """Return the first error line about an object, else the last lines."""
    lines = text.splitlines()
    stem = name.rsplit(".", 1)[0]
    mine = [line for line in lines if "error" in line.lower() and stem in line]
    other = [line for line in lines if re.search(r"error:|\*\*\*", line)]
    return (mine or other or [last_lines(text)])[0].strip()


def wanted(names: set[str], states: States, state: int, kernel: Path, built: Path) -> list[str]:
    """Return those objects that the configuration builds and whose source is there at a state.

    Args: the objects, the states, the number of patches, the pushed tree, the built kernel.
    """
    files, touched = states.files(state), set(states.paths)
    return sorted(name for name in names if (built / name).is_file() and any(
        path in files if path in touched else (kernel / path).is_file()
        for path in sources_of(name)))


def run_steps(series: Series, sources: Sources, config: Path, build: Path
              ) -> tuple[list[Step], bool]:
    """Build what is not known of every step.

    Args: the series, the sources, the .config of the built kernel (its objects say what the
    configuration builds), the build directory.
    Returns one Step per patch, and whether nothing had to be built. Raises FileNotFoundError
    when there is no built kernel, RuntimeError when the series does not apply.
    """
    if not config.is_file() or not (config.parent / "vmlinux").is_file():
        raise FileNotFoundError("no built kernel: run `make`")
    kernel, work = sources.kernel(), build.resolve() / "steps"
    states = States(series, sources, work / "repo")
    stepper = Stepper(states, sources, config, work)
    code = verdicts.contents(Path(__file__).parents[1], "series.py", "command.py",
                             "checks/steps.py", "tree/working_copy.py", "tree/sources.py",
                             "tree/state.py")
    tree = fingerprint(listing(kernel), set(series.paths))
    words = compiler(stepper.config)
    cc = " ".join(words).replace("LLVM=1", "clang").replace("LLVM=", "clang").removeprefix("CC=")
    inputs = {"tree": tree, "config": stepper.config, "code": code,
              "make": [stepper.checker, *words],
              "sparse": verdicts.version("sparse"), "tools": verdicts.toolchain(*cc.split()),
              "variables": verdicts.variables()}
    known = verdicts.Verdicts("steps")
    objects = [set(touched_objects(patch)) for patch in series.patches]
    steps = [Step(patch.name) for patch in series.patches]
    was: list[str] = []
    cached = True
    for state in range(len(steps) + 1):
        after = objects[state - 1] if state else set()
        before = objects[state] if state < len(steps) else set()
        names = wanted(after | before, states, state, kernel, config.parent)
        files = {path: content for path, content in states.files(state).items()
                 if not path.startswith(NO_INPUT)}
        key = verdicts.key(files=files, objects=names, **inputs)
        found, broken = known.lookup(key), {}
        if found is None:
            if cached:
                stepper.prepare()
            cached = False
            problem = stepper.go(state)
            found, broken = ({}, {"": problem}) if problem else stepper.build(names)
            if not broken:
                known.store(key, found)
        if state:
            mine = [text for name, text in broken.items() if name not in before - after]
            steps[state - 1].broken = mine
            lines = {line for name in after for line in found.get(name) or []}
            steps[state - 1].warnings = sorted(lines - set(was))
        was = [line for name in before for line in found.get(name) or []]
    return steps, cached
