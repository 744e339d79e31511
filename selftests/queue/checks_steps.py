# SPDX-License-Identifier: GPL-2.0
"""Builds what each patch touches, with sparse and W=1, step by step.

A step is one patch.  The touched objects are built before and after it, in a
hard-linked copy of the kernel tree; a warning counts as new when it is there
after the step and was not before, whatever its line.  Results are kept by a
hash of the base, the patches so far and the configuration, so that only the
steps after a change run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

from selftests.queue.checks_tree import compiler, parallel
from selftests.queue.patchqueue import Patch, Queue
from selftests.queue.proc import last_lines, must, run
from selftests.queue.scratch import Sources, git_am, make_repo

# What stands for all users of a header: the copies' and the patched code's
# users, in every directory the series works in.
HEADER_OBJECTS = (
    "arch/x86/kernel/process.o",
    "arch/x86/kernel/setup.o",
    "arch/x86/kernel/vmlinux.lds",
    "arch/x86/lib/usercopy_64.o",
    "fs/exec.o",
    "fs/read_write.o",
    "init/main.o",
    "kernel/fork.o",
    "kernel/sched/core.o",
    "kernel/sysctl.o",
    "lib/iov_iter.o",
    "mm/filemap.o",
    "mm/memory.o",
)
NOT_KERNEL = ("tools/", "Documentation/", "samples/", "scripts/", "rust/")
WARNING = re.compile(r"(?:warning|error): ")
BUILDING = re.compile(r"^  (?:CC|AS|LDS|CC \[M\]|AS \[M\])\s+(\S+)$")
FAILED = re.compile(r"\*\*\* \[[^\]]*?:? ?([\w./-]+)\] Error")
NO_SPARSE = "is not available or not up to date"
UNQUAL = "static inline int u(const int *q) { __typeof_unqual__(*q) v = *q; return v; }\n"
VERSION = 3


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
    """Whether this is what sparse 0.6.4 says of any MODULE_LICENSE(), any
    module_param() and their like: their static assertion compares two lengths
    of a string, and it cannot tell that __builtin_strlen() is constant.
    """
    found = re.match(r"(\S+?):(\d+):\d+: error: bad constant expression$", line)
    if not found:
        return False
    for path in (Path(found[1]), *(place / found[1] for place in places)):
        if path.is_file():
            source = path.read_text(errors="replace").splitlines()
            number = int(found[2])
            return number <= len(source) and source[number - 1].startswith(("MODULE_", "module_param("))
    return False


def split_output(text: str, places: list[Path]) -> dict[str, list[str]]:
    """Assign the warnings in make's output to the objects they came with.

    Returns object -> sorted normalised warnings, for each object built.
    """
    found: dict[str, set[str]] = {}
    current = ""
    for line in text.splitlines():
        built = BUILDING.match(line)
        if built:
            current = built[1]
            found[current] = set()
        elif WARNING.search(line) and current and not is_module_macro(line, places):
            found[current].add(normalise(line, places))
    return {name: sorted(lines) for name, lines in found.items()}


def checker() -> str:
    """Return make's CHECK: sparse, taught the one keyword old releases lack.

    The kernel turns C=1 off for a sparse that does not know __typeof_unqual__.
    Treating it as __typeof__ keeps qualifiers that it should drop; what that
    adds in warnings is there before and after a step.  Empty when there is no
    sparse that works.
    """
    if not shutil.which("sparse"):
        return ""
    for words in (["sparse"], ["sparse", "-D__typeof_unqual__=__typeof__"]):
        if "error" not in run([*words, "-"], stdin=UNQUAL).stdout:
            return " ".join(words)
    return ""


def touched_objects(patch: Patch) -> list[str]:
    """Return the objects a patch touches; any header brings the fixed list."""
    objects: set[str] = set()
    for diff in patch.files:
        path = Path(diff.path)
        if diff.path.startswith(NOT_KERNEL):
            continue
        if diff.path.endswith(".lds.S"):
            objects.add(str(path.with_suffix("")))
        elif path.suffix in (".c", ".S"):
            objects.add(str(path.with_suffix(".o")))
        elif path.suffix == ".h":
            objects.update(HEADER_OBJECTS)
    return sorted(objects)


def step_keys(queue: Queue, sources: Sources, config: str) -> list[str]:
    """Return one cache key per patch: everything its result depends on."""
    state = hashlib.sha256(f"{VERSION} {HEADER_OBJECTS} {checker()} {config}".encode())
    makefile = sources.original("Makefile")
    state.update(makefile.read_bytes() if makefile else b"none")
    keys: list[str] = []
    for patch in queue.patches:
        for diff in patch.files:
            original = sources.original(diff.path)
            state.update(original.read_bytes() if original else b"none")
        state.update(patch.diff.encode())
        keys.append(state.copy().hexdigest())
    return keys


class Stepper:
    """The tree that is moved from step to step, and what was built in it."""

    def __init__(self, queue: Queue, sources: Sources, config: Path, work: Path) -> None:
        self.queue = queue
        self.sources = sources
        self.config = config.read_text()
        self.built = config.parent
        self.tree = work / "linux"
        self.out = work / "out"
        self.repo = work / "repo"
        self.notes = work / "warnings.json"
        self.list = work / "touched"
        self.make = ["make", "-C", self.tree, f"O={self.out}", *compiler(self.config)]
        self.make += ["KBUILD_BUILD_TIMESTAMP=1", parallel(), "-k", "--output-sync=target"]
        self.checker = checker()

    def prepare(self) -> list[str]:
        """Make the tree, the output directory and the commits; returns findings.

        The tree is linked to CF_TREE, but for the touched files: those are
        replaced, never written to.
        """
        kernel = self.sources.kernel()
        self.out.mkdir(parents=True, exist_ok=True)
        stamp = self.tree.parent / "made-from"
        identity = f"{kernel.resolve()} {(kernel / 'Makefile').stat().st_ino}"
        if not stamp.is_file() or stamp.read_text() != identity:
            shutil.rmtree(self.tree, ignore_errors=True)
            stamp.unlink(missing_ok=True)
            self.link(kernel)
            stamp.write_text(identity)
        shutil.rmtree(self.repo, ignore_errors=True)
        make_repo(self.queue, self.sources, self.repo)
        findings = git_am(self.repo, self.queue.patches)
        before = self.list.read_text().split() if self.list.is_file() else []
        self.list.write_text("\n".join(sorted({*before, *self.queue.paths})) + "\n")
        for path in before:
            if path not in self.queue.paths:
                original = self.sources.original(path)
                self.put(path, original.read_bytes() if original else None)
        return findings

    def link(self, kernel: Path) -> None:
        """Copy the tree by hard links, or wholly across file systems."""
        self.tree.parent.mkdir(parents=True, exist_ok=True)
        if run(["cp", "-al", kernel, self.tree]).returncode:
            shutil.rmtree(self.tree, ignore_errors=True)
            must(["cp", "-a", kernel, self.tree])
        shutil.rmtree(self.tree / ".pc", ignore_errors=True)

    def put(self, path: str, content: bytes | None) -> None:
        """Give a file of the tree this content, None for no file.

        A new file takes the place of the old one: the link is broken, and the
        time of an unchanged file stays.
        """
        target = self.tree / path
        if content is None:
            target.unlink(missing_ok=True)
            return
        linked = target.is_file() and target.stat().st_nlink > 1
        if target.is_file() and target.read_bytes() == content and not linked:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode if target.is_file() else 0o644
        scratch = target.with_name(f".{target.name}.new")
        scratch.write_bytes(content)
        scratch.chmod(mode)
        scratch.replace(target)

    def go(self, number: int) -> str:
        """Bring the tree to the state after `number` patches.

        Returns '' or why the configuration could not be made.
        """
        revision = f"HEAD~{len(self.queue.patches) - number}"
        listed = must(["git", "ls-tree", "-r", "--name-only", revision], self.repo).splitlines()
        must(["git", "checkout", "-q", "-f", revision, "--", "."], self.repo)
        for path in self.queue.paths:
            self.put(path, (self.repo / path).read_bytes() if path in listed else None)
        return self.configure()

    def configure(self) -> str:
        """Make .config for the present state; '' or what went wrong."""
        trial = self.out / ".config.step"
        trial.write_text(self.config)
        words = [word for word in self.make if word not in ("-k", parallel())]
        done = run([*words, f"KCONFIG_CONFIG={trial}", "olddefconfig"])
        if done.returncode:
            return f"olddefconfig: {last_lines(done.stdout)}"
        target = self.out / ".config"
        if not target.is_file() or target.read_bytes() != trial.read_bytes():
            trial.replace(target)
        return ""

    def wanted(self, objects: list[str]) -> list[str]:
        """Return those objects that the configuration builds and whose source is there."""
        return [
            name
            for name in objects
            if (self.built / name).is_file()
            and any((self.tree / name).with_suffix(end).is_file() for end in (".c", ".S"))
            or name.endswith(".lds")
            and (self.built / name).is_file()
        ]

    def build(self, objects: list[str]) -> tuple[dict[str, list[str]], list[str]]:
        """Build objects; make rebuilds only what the state has changed.

        Returns warnings per object (those of its last build) and what broke.
        """
        if not objects:
            return {}, []
        notes = json.loads(self.notes.read_text()) if self.notes.is_file() else {}
        for name in objects:
            if name not in notes:
                (self.out / name).unlink(missing_ok=True)
        check = ["C=1", f"CHECK={self.checker}"] if self.checker else []
        done = run([*self.make, *check, "W=1", *objects])
        places = [self.tree, self.out]
        notes.update(split_output(done.stdout, places))
        failed = set(FAILED.findall(done.stdout)) if done.returncode else set()
        broken = [name for name in objects if name in failed or not (self.out / name).is_file()]
        for name in broken:
            (self.out / name).unlink(missing_ok=True)
            notes.pop(name, None)
        self.notes.write_text(json.dumps(notes, indent=1))
        failures = [f"{name} does not build: {first_error(done.stdout, name)}" for name in broken]
        if self.checker and NO_SPARSE in done.stdout:
            failures.append("make: the kernel's build refuses this sparse")
        if done.returncode and not failures:
            failures = [f"make: {first_error(done.stdout, '')}"]
        return {name: notes.get(name, []) for name in objects}, failures


def first_error(text: str, name: str) -> str:
    """Return the first error line about an object, else the last lines."""
    lines = text.splitlines()
    stem = name.rsplit(".", 1)[0]
    mine = [line for line in lines if "error" in line.lower() and stem in line]
    other = [line for line in lines if re.search(r"error:|\*\*\*", line)]
    return (mine or other or [last_lines(text)])[0].strip()


def run_steps(queue: Queue, sources: Sources, config: Path, build: Path) -> list[Step]:
    """Build every step that is not in the cache.

    Args: the queue, the sources, the .config of the built kernel (its objects
    say what the configuration builds), the build directory.
    Returns one Step per patch.  Raises FileNotFoundError when there is no
    built kernel, RuntimeError when the series does not apply.
    """
    if not config.is_file() or not (config.parent / "vmlinux").is_file():
        raise FileNotFoundError("no built kernel: run `make`")
    cache = build / "check-cache"
    cache.mkdir(parents=True, exist_ok=True)
    keys = step_keys(queue, sources, config.read_text())
    files = [cache / f"step-{key}.json" for key in keys]
    if not all(file.is_file() for file in files):
        stepper = Stepper(queue, sources, config, build / "steps")
        findings = stepper.prepare()
        if findings:
            raise RuntimeError(findings[0])
        missing_steps(stepper, files)
    return [Step(**json.loads(file.read_text())) for file in files]


def missing_steps(stepper: Stepper, files: list[Path]) -> None:
    """Build the steps whose result files are missing, in order.

    At each state the objects of the step before and of the step after are
    built in one go.
    """
    patches = stepper.queue.patches
    objects = [touched_objects(patch) for patch in patches]
    for state in range(len(patches) + 1):
        ends = state > 0 and not files[state - 1].is_file()
        begins = state < len(patches) and not files[state].is_file()
        if not ends and not begins:
            continue
        problem = stepper.go(state)
        after = set(objects[state - 1]) if ends else set()
        before = set(objects[state]) if begins else set()
        built, broken = stepper.build(stepper.wanted(sorted(after | before))) if not problem else ({}, [problem])
        if ends:
            mine = [line for line in broken if line.split(" ", 1)[0] not in before - after]
            step = Step(patches[state - 1].name, mine)
            known = set(was)
            lines = {line for name in after for line in built.get(name, [])}
            step.warnings = sorted(lines - known)
            files[state - 1].write_text(json.dumps(asdict(step), indent=1) + "\n")
        was = [line for name in before for line in built.get(name, [])]


def check_each_step_builds(steps: list[Step]) -> list[str]:
    """Each patch builds."""
    return [f"{step.patch}: {line}" for step in steps for line in step.broken]


def check_sparse_w1(steps: list[Step]) -> list[str]:
    """No step has a warning of sparse or W=1 that was not there before it."""
    return [f"{step.patch}: new: {line}" for step in steps for line in step.warnings]


def build_directory() -> Path:
    """Return CF_BUILD."""
    return Path(os.environ["CF_BUILD"])
