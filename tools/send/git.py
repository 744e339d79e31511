# SPDX-License-Identifier: GPL-2.0
"""The series for other tools: commits of a git tree, patches of another quilt queue.

  git.py branch       make it commits on a new branch of KDIR=; the work tree is not touched
  git.py export DIR   copy the patches to DIR and list them in the series file beside it
Environment: KDIR, GROUP (names of groups, default all of them), FORCE=1 (a version that is not in
configs/bases), QUEUE, PIN, BUILD.
"""

import shutil
import signal
import sys
from pathlib import Path

from tools import environment
from tools.command import SIGNALS, Stop, must, run, say, start
from tools.series import Patch, load_series, series_hash
from tools.tree.apply import reason_of, take_lock
from tools.tree.sources import read_lines
from tools.tree.state import commits
from tools.tree.versions import bases, check_kernel, patches_for


def git(path: Path, *words: str) -> str:
    """Run git in a tree with the user's own settings; returns what it prints, or raises Stop."""
    return must(["git", *words], path, user=True).strip()


def check_git(path: Path) -> None:
    """Raise Stop unless path is the top of a git tree that is in the middle of nothing."""
    top = run(["git", "rev-parse", "--show-toplevel"], path, user=True)
    if top.returncode or not path.samefile(top.stdout.strip()):
        raise Stop(f"{path} is not a git tree")
    for name in ("rebase-apply", "rebase-merge"):
        if (path / git(path, "rev-parse", "--git-path", name)).exists():
            raise Stop(f"{path} is in the middle of a rebase or git am ({name})")


def branch(path: Path, patches: list[Patch]) -> None:
    """Make the branch cache-footprint/HASH from HEAD with one commit per patch.

    Only the new branch is written: neither the work tree nor the index nor HEAD change.
    """
    check_git(path)
    name = f"cache-footprint/{series_hash(patches)}"
    if git(path, "for-each-ref", f"refs/heads/{name}"):
        raise Stop(f"{path} has the branch {name} already")
    try:
        commit = commits(path, "HEAD", patches)
    except Stop as error:
        raise Stop(f"{error}; {path} is as it was") from error
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    git(path, "branch", name, commit)
    say(f"branch {name} in {path}: {len(patches)} commits; git switch checks it out")


def pushed_from(tree: Path, directory: Path) -> list[str]:
    """Return the patches that quilt has pushed on a tree from this directory of patches."""
    where = read_lines(tree / ".pc/.quilt_patches")
    ours = not where or (tree / where[0]).resolve() == directory
    return read_lines(tree / ".pc/applied-patches") if ours else []


def export(to: str, patches: list[Patch]) -> None:
    """Copy the patches to the directory `to` and list them in the series file beside it.

    What an earlier export listed is replaced where it stands, and patches that left are removed.
    Raises Stop for a directory that is a queue, and for a queue whose exported patches are pushed.
    """
    where = Path(to).resolve()
    series = where.parent / "series"
    if not Path(to).is_absolute():
        raise Stop(f"DIR={to} is not absolute: DIR=$PWD/{to}")
    if (where / "series").exists():
        raise Stop(f"{where} is a patch queue: name a new directory in it, "
                   f"DIR={where}/cache-footprint")
    for tree in series.parents:
        if any(name.startswith(f"{where.name}/") for name in pushed_from(tree, series.parent)):
            raise Stop(f"patches of an earlier export are pushed on {tree}: quilt pop -a first")
    for patch in patches:
        (where / patch.name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(patch.path, where / patch.name)
    ours = [f"{where.name}/{patch.name}" for patch in patches]
    lines = read_lines(series)
    old = [number for number, line in enumerate(lines) if line.startswith(f"{where.name}/")]
    for name in {lines[number].split()[0] for number in old} - set(ours):
        (where.parent / name).unlink(missing_ok=True)
    at = old[0] if old else len(lines)
    rest = [line for number, line in enumerate(lines[at:], at) if number not in old]
    new = where / ".series"
    new.write_text("".join(f"{line}\n" for line in [*lines[:at], *ours, *rest]))
    new.replace(series)
    say(f"{len(patches)} patches copied to {where}, listed in {series}")


def main(command: str = "", to: str = "") -> None:
    """Run one command; see the first comment of this file. Raises Stop for every known failure."""
    if command == "export" and not to:
        raise Stop("usage: make export DIR=$PWD/debian/patches/cache-footprint [GROUP=name]")
    if command == "branch" and not environment.is_given("KDIR"):
        raise Stop("usage: make branch KDIR=git-tree [GROUP=name]")
    if command not in ("branch", "export"):
        raise Stop("usage: git.py branch|export DIR")
    path, groups = environment.tree(), environment.chosen()
    try:
        series = load_series(patches_for(path))
        if command == "export":
            return export(to, series.choose(groups))
        patches = series.choose(check_kernel(path, bases(), groups))
        take_lock(path)
        branch(path, patches)
    except (OSError, ValueError) as error:
        raise Stop(reason_of(error)) from error


if __name__ == "__main__":
    start(main, *sys.argv[1:3])
