# SPDX-License-Identifier: GPL-2.0
"""Each step of the series builds, and adds no warning of W=1 or sparse.

For each patch, the objects of the files it touches are built before and after it, in a copy of the
tree (mover.py); a warning counts as new when it is there after the step and was not before,
whatever its line. What an object builds with is kept (tools/proofs.py) under the contents of
the touched files that it depends on. So after a change, an object is built at those steps at which
one of these is not as it ever was, and at no others.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tools import proofs
from tools.queue.checks_tree import compiler, parallel
from tools.queue.mover import Mover, States, fingerprint, listing
from tools.queue.proc import last_lines, run
from tools.queue.scratch import Sources
from tools.series import Patch, Queue

# For all users of a header: those of the copies and of the patched code, in every directory
HEADER_OBJECTS = """
    arch/x86/kernel/process.o arch/x86/kernel/setup.o arch/x86/kernel/vmlinux.lds
    arch/x86/lib/usercopy_64.o fs/exec.o fs/read_write.o init/main.o kernel/fork.o
    kernel/sched/core.o kernel/sysctl.o lib/iov_iter.o mm/filemap.o mm/memory.o
""".split()
NOT_KERNEL = ("tools/", "Documentation/", "samples/", "scripts/", "rust/")
WARNING = re.compile(r"(?:warning|error): ")
BUILDING = re.compile(r"^  (?:CC|AS|LDS|CC \[M\]|AS \[M\])\s+(\S+)$")
FAILED = re.compile(r"\*\*\* \[[^\]]*?:? ?([\w./-]+)\] Error")
NO_SPARSE = "is not available or not up to date"
UNQUAL = "static inline int u(const int *q) { __typeof_unqual__(*q) v = *q; return v; }\n"
DEPENDENCIES = re.compile(r"^(?:source_\S+ := |  )(?!\$)(\S+)(?: \\)?$", re.M)
NO_INPUT = ("Documentation/", "MAINTAINERS", "samples/", "tools/testing/")
# Programs that the build makes and uses itself: no object notes their sources as read
BUILD_TOOLS = ("tools/objtool/", "scripts/", "arch/x86/tools/")
SOURCE = {".c", ".h", ".S"}
# kbuild builds these from arch/x86 and from arch/x86/lib; at the same time the two collide
TWICE = "arch/x86/lib/"
# In place of an object: that Kconfig takes the configuration
CONFIGURED = ".config"


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


def is_module_macro(line: str, places: list[Path]) -> bool:
    """Whether this is what sparse 0.6.4 says of any MODULE_LICENSE(), module_param() and the like.

    Their static assertion compares two lengths of a string, and sparse cannot tell that
    __builtin_strlen() is constant.
    """
    found = re.match(r"(\S+?):(\d+):\d+: error: bad constant expression$", line)
    paths = [place / found[1] for place in (Path(), *places)] if found else []
    for path in (path for path in paths if path.is_file()):
        source = ["", *path.read_text(errors="replace").splitlines(), ""]
        number = min(int(found[2]), len(source) - 1)
        return source[number].startswith(("MODULE_", "module_param("))
    return False


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
        elif WARNING.search(line) and current and not is_module_macro(line, places):
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


class Known:
    """What objects are known to build with, whatever the state they were built at.

    An object depends on the touched files that its last build has read, on each touched file that
    is no C or assembly (Kconfig, Makefile, a table), and on which headers there are.
    """

    def __init__(self, states: States, inputs: dict) -> None:
        """Args: the states, what all objects depend on, for a key."""
        self.states = states
        self.inputs = inputs
        self.lists = proofs.Proofs("dependencies")
        self.objects = proofs.Proofs("objects")
        self.always = [path for path in states.paths if not path.startswith(NO_INPUT)
                       and (Path(path).suffix not in SOURCE or path.startswith(BUILD_TOOLS))]

    def key(self, state: int, name: str, dependencies: list[str]) -> str:
        """Return the key of an object at a state, given the touched files that it has read."""
        files = self.states.files(state)
        headers = sorted(path for path in files if path.endswith(".h"))
        read = {path: files.get(path) for path in [*self.always, *dependencies]}
        return proofs.key(object=name, headers=headers, files=read, **self.inputs)

    def dependencies(self, name: str) -> tuple[str, list[list[str]]]:
        """Return the lists of touched files that builds of this object have read, and their key."""
        index = proofs.key(object=name, paths=self.states.paths)
        return index, self.lists.lookup(index) or []

    def warnings(self, state: int, name: str) -> list[str] | None:
        """Return the warnings of an object at a state, None when it has to be built."""
        found = (self.objects.lookup(self.key(state, name, dependencies))
                 for dependencies in self.dependencies(name)[1])
        return next((warnings for warnings in found if warnings is not None), None)

    def keep(self, state: int, name: str, read: set[str] | None, warnings: list[str]) -> None:
        """Keep the warnings of an object that has read these files of the tree (None: unknown)."""
        dependencies = [path for path in self.states.paths if Path(path).suffix in SOURCE
                        and (read is None or path in read)]
        index, lists = self.dependencies(name)
        if dependencies not in lists:
            self.lists.store(index, [*lists, dependencies])
        self.objects.store(self.key(state, name, dependencies), warnings)


class Stepper:
    """The tree that is moved from step to step, and what is built in it."""

    def __init__(self, states: States, sources: Sources, config: Path, work: Path) -> None:
        """Args: the states, the sources, the .config of the built kernel, where to build."""
        self.config = config.read_text()
        self.mover = Mover(states, sources, work / "linux")
        self.out = work / "out"
        self.make = ["make", "-C", self.mover.tree, f"O={self.out}", *compiler(self.config)]
        self.make += ["KBUILD_BUILD_TIMESTAMP=1", parallel(), "-k", "--output-sync=target"]
        self.checker = checker()

    def prepare(self) -> None:
        """Make the tree, if need be; what was built of another one goes."""
        if self.mover.prepare():
            shutil.rmtree(self.out, ignore_errors=True)

    def go(self, number: int) -> str:
        """Bring the tree to the state after `number` patches.

        Returns '' or why the configuration could not be made.
        """
        self.out.mkdir(parents=True, exist_ok=True)
        self.mover.go(number)
        trial, target = self.out / ".config.step", self.out / ".config"
        trial.write_text(self.config)
        words = [word for word in self.make if word not in ("-k", parallel())]
        done = run([*words, f"KCONFIG_CONFIG={trial}", "olddefconfig"])
        if done.returncode:
            return f"olddefconfig: {last_lines(done.stdout)}"
        if not target.is_file() or target.read_bytes() != trial.read_bytes():
            trial.replace(target)
        return ""

    def build(self, objects: list[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
        """Build objects anew, but for those that the step's configuration leaves out.

        Returns the warnings of each that builds, and why each other does not ('' for all of them).
        """
        out = {name for name in objects if self.left_out(name)}
        objects = [name for name in objects if name not in out]
        for name in objects:
            (self.out / name).unlink(missing_ok=True)
        check = ["C=1", f"CHECK={self.checker}"] if self.checker else []
        twice = [name for name in objects if name.startswith(TWICE)]
        once = [name for name in objects if name not in twice]
        done = [run([*self.make, *check, "W=1", *words, *names])
                for words, names in (([], once), (["-j1"], twice)) if names]
        text = "".join(one.stdout for one in done)
        status = any(one.returncode for one in done)
        warnings = split_output(text, [self.mover.tree, self.out])
        failed = set(FAILED.findall(text)) if status else set()
        failed |= {name for name in objects if not (self.out / name).is_file()}
        broken = {name: f"{name} does not build: {first_error(text, name)}"
                  for name in objects if name in failed}
        if self.checker and NO_SPARSE in text:
            broken[""] = "make: the kernel's build refuses this sparse"
        elif status and not broken:
            broken[""] = f"make: {first_error(text, '')}"
        built = {name: warnings.get(name, []) for name in objects if name not in broken}
        return built | {name: [] for name in out}, broken

    def left_out(self, name: str) -> bool:
        """Whether the Makefile of its directory leaves an object out of this configuration."""
        path = Path(name)
        makefile = self.mover.tree / path.parent / "Makefile"
        rule = rf"^obj-\$\((CONFIG_\w+)\)\s*\+=(?:.*\s)?{re.escape(path.name)}(?:\s|$)"
        found = makefile.is_file() and re.search(rule, makefile.read_text(), re.M)
        return bool(found) and f"\n{found[1]}=" not in f"\n{(self.out / '.config').read_text()}"

    def files_in(self, command: Path) -> set[str]:
        """Return the files of the tree that kbuild notes in a .cmd file as read."""
        words = DEPENDENCIES.findall(command.read_text(errors="replace"))
        full = [os.path.normpath(self.out / word) for word in words]
        root = f"{self.mover.tree}/"
        return {path.removeprefix(root) for path in full if path.startswith(root)}

    def read(self, objects: Iterable[str]) -> dict[str, set[str] | None]:
        """Return the files of the tree that the last builds of objects read, None when not known.

        With those of the headers that kbuild makes of constants of the compiler.
        """
        constants = set().union(*(self.files_in(path) for path in self.out.rglob(".*.s.cmd")))
        found = {}
        for name in objects:
            command = (self.out / name).with_name(f".{Path(name).name}.cmd")
            files = self.files_in(command) if command.is_file() else set()
            found[name] = files | constants if files.intersection(sources_of(name)) else None
        return found


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


def run_steps(queue: Queue, sources: Sources, config: Path, build: Path) -> tuple[list[Step], bool]:
    """Build what is not known of every step.

    Args: the queue, the sources, the .config of the built kernel (its objects say what the
    configuration builds), the build directory.
    Returns one Step per patch, and whether nothing had to be built. Raises FileNotFoundError
    when there is no built kernel, RuntimeError when the series does not apply.
    """
    if not config.is_file() or not (config.parent / "vmlinux").is_file():
        raise FileNotFoundError("no built kernel: run `make`")
    kernel, work = sources.kernel(), build.resolve() / "steps"
    states = States(queue, sources, work / "repo")
    stepper = Stepper(states, sources, config, work)
    here = Path(__file__).parents[1]
    code = proofs.contents(here, "series.py", *(f"queue/{name}.py" for name in (
        "checks_steps", "checks_tree", "mover", "proc", "scratch")))
    tree = fingerprint(listing(kernel), set(queue.paths))
    words = compiler(stepper.config)
    cc = " ".join(words).replace("LLVM=1", "clang").replace("LLVM=", "clang").removeprefix("CC=")
    known = Known(states, {
        "tree": tree, "config": stepper.config, "code": code, "make": [stepper.checker, *words],
        "sparse": proofs.version("sparse"), "tools": proofs.toolchain(*cc.split()),
        "variables": proofs.variables()})
    objects = [set(touched_objects(patch)) for patch in queue.patches]
    steps = [Step(patch.name) for patch in queue.patches]
    was: list[str] = []
    cached = True
    for state in range(len(steps) + 1):
        after = objects[state - 1] if state else set()
        before = objects[state] if state < len(steps) else set()
        names = [CONFIGURED, *wanted(after | before, states, state, kernel, config.parent)]
        found = {name: known.warnings(state, name) for name in names}
        missing = [name for name in names if found[name] is None]
        broken: dict[str, str] = {}
        if missing:
            if cached:
                stepper.prepare()
            cached = False
            problem = stepper.go(state)
            built, broken = {}, {"": problem}
            if not problem:
                known.keep(state, CONFIGURED, set(), [])
                built, broken = stepper.build([name for name in missing if name != CONFIGURED])
            found |= built
            if "" not in broken:
                for name, read in stepper.read(built).items():
                    known.keep(state, name, read, built[name])
        if state:
            mine = [text for name, text in broken.items() if name not in before - after]
            steps[state - 1].broken = mine
            lines = {line for name in after for line in found.get(name) or []}
            steps[state - 1].warnings = sorted(lines - set(was))
        was = [line for name in before for line in found.get(name) or []]
    return steps, cached


def check_each_step_builds(steps: list[Step]) -> list[str]:
    """Each patch builds."""
    return [f"{step.patch}: {line}" for step in steps for line in step.broken]


def check_sparse_w1(steps: list[Step]) -> list[str]:
    """No step has a warning of sparse or W=1 that was not there before it."""
    return [f"{step.patch}: new: {line}" for step in steps for line in step.warnings]
