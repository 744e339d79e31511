# SPDX-License-Identifier: GPL-2.0
"""Moves the series onto a kernel tree and off it, whole or not at all.

  apply.py apply        push the series onto the tree
  apply.py unapply      take it off
  apply.py edited       print the patched files that differ from what was pushed
  apply.py check        stop unless it is a kernel tree of the base's version, for base.sh
Environment: KDIR (the tree, default build/linux), GROUP (names of groups, default all of them),
FORCE=1 (a version that is not in configs/bases), DISCARD=1 (throw away edits that are in no patch),
QUEUE, PIN, BUILD.

quilt works on copies of the touched files, in KDIR/.cache-footprint.new, whose before/ is never
changed. When all is pushed there or off, the directory is renamed to .cache-footprint.undo, each
file that differs is renamed to its place in the tree, and the directory is removed. A run that
finds it says so, and with DISCARD=1 puts before/ back first. A file that stays the same is not
touched and keeps its time.
"""

import fcntl
import os
import re
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from tools import environment
from tools.command import SIGNALS, Stop, run, say, start
from tools.environment import ROOT
from tools.groups import features, switches
from tools.series import Patch, load_series, series_hash, touched
from tools.tree.sources import read_lines
from tools.tree.versions import base, bases, check_kernel, patches_for, version
from tools.verdicts import content

WAIT_SECONDS = 5
LOCKS: list[int] = []


def take_lock(path: Path) -> None:
    """Take the lock of a tree for as long as this process and its children live.

    Raises Stop when another has it.
    """
    lock = os.open(path, os.O_RDONLY)
    LOCKS.append(lock)
    for _ in range(WAIT_SECONDS * 10):
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.1)
    raise Stop(f"another run works on {path}; wait for it")


class Tree:
    """A kernel tree with what quilt and this script keep in it."""

    def __init__(self, path: Path, directory: Path) -> None:
        self.path = path
        self.directory = directory
        self.pc = path / ".pc"
        self.undo = path / ".cache-footprint.undo"
        self.new = path / ".cache-footprint.new"
        self.before, self.copy = self.new / "before", self.new / "tree"
        self.paths: list[str] = []
        self.backups: list[tuple[Path, str]] = []

    def begin(self) -> None:
        """Lock the tree, undo what was cut off; Stop when the tree is not ours to change."""
        if not os.access(self.path, os.W_OK):
            raise Stop(f"{self.path} cannot be written to")
        take_lock(self.path)
        if self.undo.is_dir():
            if os.environ.get("DISCARD") != "1":
                raise Stop(f"an earlier run was cut off while it moved files of {self.path}: "
                           "DISCARD=1 puts them back first, without what was edited in patched "
                           "files since")
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            self.roll_back()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        shutil.rmtree(self.new, ignore_errors=True)
        if self.foreign():
            raise Stop(f"{self.path} has a patch queue of its own (.pc or patches): "
                       "make export DIR=... copies the series for it")

    def foreign(self) -> bool:
        """Whether another quilt queue is on the tree: Debian's, SUSE's, the user's own."""
        if self.record("hash"):
            return False
        if where := read_lines(self.pc / ".quilt_patches"):
            return (self.path / where[0]).resolve() != self.directory
        return (self.path / "patches").exists() or bool(self.applied())

    def applied(self) -> list[str]:
        """Return the patches that quilt says are on the tree."""
        return read_lines(self.pc / "applied-patches")

    def record(self, key: str) -> list[str]:
        """Return the values of hash, patch or file (its hash, its path) of the last complete
        push."""
        lines = [line.partition(" ") for line in read_lines(self.pc / ".cache-footprint")]
        return [value for name, _, value in lines if name == key]

    def differing(self, root: Path) -> list[str]:
        """Return the patched files that are not below root as the last complete push left them."""
        pushed = (value.split(" ", 1) for value in self.record("file"))
        return [path for digest, path in pushed if content(root / path) != digest]

    def copy_files(self, paths: list[str]) -> None:
        """Copy `paths` and the files of the patches on the tree."""
        self.before.mkdir(parents=True)
        self.backups = [(file, str(file.relative_to(self.pc / patch))) for patch in self.applied()
                        for file in (self.pc / patch).rglob("*")
                        if file.is_file() and file.name != ".timestamp"]
        self.paths = sorted({*paths, *(path for _, path in self.backups)})
        for path in self.paths:
            copy(self.path / path, self.before / path)

    def quilt(self, rc: object, *words: str) -> tuple[int, str]:
        """Run quilt on the copies; returns its exit code and its output."""
        (self.new / "tmp").mkdir(exist_ok=True)
        (self.copy / ".pc/.quilt_patches").write_text(f"{self.directory}\n")
        done = run(["quilt", "--quiltrc", rc, *words], self.copy, pass_fds=LOCKS,
                   env={"TMPDIR": str(self.new / "tmp")})
        return done.returncode, done.stdout

    def as_pushed(self) -> bool:
        """Whether the patches on the tree and their files are those of the last complete push."""
        paths = {value.partition(" ")[2] for value in self.record("file")}
        return (self.applied() == self.record("patch")
                and paths == {path for _, path in self.backups}
                and not self.differing(self.before))

    def take_off(self) -> None:
        """Bring the copies to the state without any patch; Stop when that would lose edits."""
        if self.applied() and not self.as_pushed() and os.environ.get("DISCARD") != "1":
            # No edit is lost if each patch makes of its backups what is there
            shutil.copytree(self.before, self.copy)
            shutil.copytree(self.pc, self.copy / ".pc")
            code, output = self.quilt("-", "pop", "-a", "-R")
            if code:
                files = " ".join(self.differing(self.before)) or first_line(output)
                raise Stop(f"{self.path} has edits that are in no patch ({files}): "
                           "quilt refresh keeps them, DISCARD=1 throws them away; it is as it was")
        self.copy_originals()

    def copy_originals(self) -> None:
        """Make the copies anew, without any patch, by quilt's backups:
        the patches may be others."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.before, self.copy)
        for backup, path in reversed(self.backups):
            (self.copy / path).unlink(missing_ok=True)
            if backup.stat().st_size:  # an empty one says that there was no file
                copy(backup, self.copy / path)

    def push(self, patches: list[Patch], whole: bool) -> None:
        """Push onto the copies with quilt, without fuzz; print the offsets."""
        names = "".join(f"{patch.name}\n" for patch in patches)
        pc = self.copy / ".pc"
        pc.mkdir()
        (pc / ".version").write_text("2\n")
        (pc / ".quilt_series").write_text("series\n")
        if not whole:
            (pc / "series").write_text(names)
        code, output = self.quilt(ROOT / "tools/quiltrc", "push", "-a", "--fuzz=0")
        if code:
            raise Stop(self.reason(output, patches))
        patch = file = ""
        for line in output.splitlines():
            patch = line.partition("Applying patch ")[2] or patch
            file = line.partition("patching file ")[2] or file
            if "offset" in line:
                say(f"{patch}: {file}: {line}")
        record = f"hash {series_hash(patches)}\n"
        record += "".join(f"patch {name}\n" for name in names.split())
        record += "".join(f"file {content(self.copy / path)} {path}\n" for path in touched(patches))
        (pc / ".cache-footprint").write_text(record)

    def reason(self, output: str, patches: list[Patch]) -> str:
        """Return why quilt could not push, as one line."""
        self.copy_originals()
        words = ("patch", "-R", "-p1", "-F0", "-f", "-r", "-", "--no-backup-if-mismatch", "-i")
        if not any(run([*words, patch.path], self.copy, pass_fds=LOCKS).returncode
                   for patch in patches[::-1]):
            return f"{self.path} has the series already, by patch or git am; it is as it was"
        lines = re.findall(r"Patch \S+ (?:does not apply|appears to be empty)", output)
        details = "; ".join(re.findall(r".*(?:FAILED|malformed|No space).*", output)[:3])
        return f"{(lines or [first_line(output)])[-1]}; {self.path} is as it was. {details}".strip()

    def move(self) -> None:
        """Bring the tree to the state of the copies, and quilt's directory with it.

        Signals wait until the end of the process. A failure is rolled back and raises Stop.
        """
        if any(content(self.path / path) != content(self.before / path) for path in self.paths):
            raise Stop(f"{self.path} was edited meanwhile; it is as it was")
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        (self.new / "paths").write_text("".join(f"{path}\n" for path in self.paths))
        if not self.pc.is_dir():
            (self.new / "pc").mkdir()
        self.new.rename(self.undo)
        try:
            if self.pc.is_dir():
                self.pc.rename(self.undo / "pc")
            self.take_from(self.undo / "tree")
            if (self.undo / "tree/.pc").is_dir():
                (self.undo / "tree/.pc").rename(self.pc)
                for stamp in self.pc.rglob(".timestamp"):
                    stamp.touch()
        except (OSError, ValueError) as error:
            self.roll_back()
            raise Stop(f"{error}; {self.path} is as it was") from error
        self.close()

    def take_from(self, state: Path) -> None:
        """Rename the files of a state that differ to their places in the tree."""
        for path in read_lines(self.undo / "paths"):
            source, target = state / path, self.path / path
            if content(source) == content(target):
                continue
            if source.is_file():
                source.touch()  # for make to see it
                target.parent.mkdir(parents=True, exist_ok=True)
                source.replace(target)
            else:
                target.unlink()
                with suppress(OSError):
                    os.removedirs(target.parent)

    def roll_back(self) -> None:
        """Bring the tree back to how it was before a move, with quilt's directory of then."""
        self.take_from(self.undo / "before")
        if (self.undo / "pc").is_dir():
            shutil.rmtree(self.pc, ignore_errors=True)
            if any((self.undo / "pc").iterdir()):
                (self.undo / "pc").rename(self.pc)
        self.close()

    def close(self) -> None:
        """Forget the state that the tree is not in."""
        shutil.rmtree(self.new, ignore_errors=True)
        self.undo.rename(self.new)
        shutil.rmtree(self.new, ignore_errors=True)

    def apply(self, patches: list[Patch], groups: list[str]) -> None:
        """Bring the tree to exactly these patches, which are those of the groups or all."""
        names = [patch.name for patch in patches]
        wanted = series_hash(patches)
        label = f"group {' '.join(groups)}, {wanted}" if groups else wanted
        if self.record("hash") == [wanted] and self.record("file") and self.applied() == names:
            (self.pc / ".quilt_patches").write_text(f"{self.directory}\n")
            edited = self.differing(self.path)
            note = f"; edited since: {' '.join(edited[:5])}" if edited else ""
            say(f"{self.path} has the series already ({label}){note}")
            return
        self.copy_files(touched(patches))
        self.take_off()
        self.push(patches, not groups)
        self.move()
        say(f"{len(names)} patches pushed onto {self.path} ({label})")
        if names := features(patches):
            say(f"options, off by default: scripts/config -e {' -e '.join(names)}")
        if names := switches(patches):
            say(f"at boot or at run time: {' '.join(names)}")

    def unapply(self) -> None:
        """Bring the tree to the state without any patch."""
        if self.applied():
            self.copy_files([])
            self.take_off()
            self.move()
            say(f"the series is off {self.path}")
        else:
            say(f"{self.path} has no patch of this series")


def copy(source: Path, target: Path) -> None:
    """Copy a file, if there is one, with its time."""
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def reason_of(error: Exception) -> str:
    """Return what an OSError or ValueError says, as one line."""
    if isinstance(error, FileNotFoundError) and error.filename in ("quilt", "patch", "git"):
        return f"{error.filename} is not installed: make tools"
    if isinstance(error, shutil.Error):  # of several files: source, target, reason
        return str(error.args[0][0][2])
    return str(error)


def first_line(text: str) -> str:
    """Return the first line of a program's output, without its advice in parentheses."""
    return (text.strip().splitlines() or ["no reason given"])[0].partition(" (")[0]


def work(tree: Tree, command: str) -> None:
    """Run one command on the tree."""
    groups = environment.chosen()
    if command == "edited":
        if not tree.record("file"):
            raise Stop(f"{tree.path} is no kernel tree with the series: make apply")
        take_lock(tree.path)
        return print("".join(f"{path}\n" for path in tree.differing(tree.path)), end="")
    if command == "unapply" and groups:
        raise Stop("unapply takes the whole series off: leave GROUP= out "
                   "(make apply GROUP=name takes the others off)")
    series = load_series(tree.directory) if command == "apply" else None
    if command == "check":
        check_kernel(tree.path, {base(): ([], "")}, [])
        return None
    if command == "unapply":
        version(tree.path)  # any kernel tree
    else:
        groups = check_kernel(tree.path, bases(), groups)
    patches = series.choose(groups) if series else []
    tree.begin()
    if series:
        stray = [name for name in tree.applied()
                 if name not in series.names and (tree.directory / name).is_file()]
        if stray:
            raise Stop(f"{stray[0]} is on {tree.path} and not in series: add it there")
    try:
        if patches:
            tree.apply(patches, groups)
        else:
            tree.unapply()
    finally:
        shutil.rmtree(tree.new, ignore_errors=True)


def main(command: str = "") -> None:
    """Run one command; see the first comment of this file. Raises Stop for every known failure."""
    if command not in ("apply", "unapply", "edited", "check"):
        raise Stop("usage: apply.py apply|unapply|edited|check")
    path = environment.tree()
    try:
        work(Tree(path, patches_for(path)), command)
    except (OSError, ValueError) as error:
        raise Stop(reason_of(error)) from error


if __name__ == "__main__":
    start(main, *sys.argv[1:2])
