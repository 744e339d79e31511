# SPDX-License-Identifier: GPL-2.0
"""Checks that apply the series: each way of doing so, groups alone, ranges."""

from __future__ import annotations

import shutil
from pathlib import Path

from tools.queue.mover import States
from tools.queue.proc import last_lines, must, run
from tools.queue.scratch import Sources, checkout, copy_originals, git_am, make_repo, tree_hash
from tools.series import Queue

PATCH = "patch -p1 -F0 -E -s -f --no-backup-if-mismatch -i".split()


def quilt(queue: Queue, cwd: Path, *words: str, patches: Path | None = None):
    """Run quilt in cwd with the queue's own settings and no user's."""
    env = {"QUILT_PATCHES": str(patches or queue.directory), "QUILT_PC": ".pc"}
    return run(["quilt", "--quiltrc", queue.root / "tools/quiltrc", *words], cwd, env=env)


def by_quilt(queue: Queue, repo: Path) -> list[str]:
    """Push everything with quilt, without fuzz."""
    done = quilt(queue, repo, "push", "-a", "--fuzz=0")
    return [f"quilt push -a: {last_lines(done.stdout)}"] if done.returncode else []


def by_patch(queue: Queue, repo: Path) -> list[str]:
    """Apply each patch with patch, without fuzz, and stop at the first that fails."""
    for patch in queue.patches:
        done = run([*PATCH, patch.path], repo)
        if done.returncode:
            return [f"{patch.name}: patch -F0: {last_lines(done.stdout)}"]
    return []


def by_git_am(queue: Queue, repo: Path) -> list[str]:
    """Apply the series as mails."""
    return git_am(repo, queue.patches)


def by_quiltimport(queue: Queue, repo: Path) -> list[str]:
    """Import the series with git quiltimport."""
    words = ["git", "quiltimport", "--patches", queue.directory, "--series", queue.root / "series"]
    done = run(words, repo)
    return [f"git quiltimport: {last_lines(done.stdout)}"] if done.returncode else []


WAYS = {"quilt": by_quilt, "patch": by_patch, "git_am": by_git_am, "quiltimport": by_quiltimport}


def check_apply(queue: Queue, states: States, way: str, scratch: Path) -> list[str]:
    """One way applies in a copy of the base below scratch, and its tree is that of git apply."""
    repo = shutil.copytree(states.check_out(0), scratch / way, symlinks=True)
    must(["git", "update-index", "-q", "--refresh"], repo)
    findings = WAYS[way](queue, repo)
    if not findings and tree_hash(repo) != states.trees[-1]:
        findings = [f"{way} and git apply give different trees"]
    return findings


def refreshed(queue: Queue, sources: Sources, scratch: Path) -> dict[str, bytes]:
    """Return each patch file as quilt refresh writes it after the push, by name.

    Args: the queue, the sources, a directory for copies of both.
    Raises ValueError with one line that names the first patch that does not apply.
    """
    tree = copy_originals(queue, sources, scratch / "tree")
    patches = scratch / "patches"
    patches.mkdir()
    shutil.copy(queue.root / "series", patches)
    for patch in queue.patches:
        (patches / patch.name).parent.mkdir(exist_ok=True)
        shutil.copy(patch.path, patches / patch.name)
    done = quilt(queue, tree, "push", "-a", "--fuzz=0", "--refresh", patches=patches)
    if done.returncode:
        raise ValueError(f"quilt push: {last_lines(done.stdout)}")
    return {patch.name: (patches / patch.name).read_bytes() for patch in queue.patches}


def check_refresh_stable(queue: Queue, sources: Sources, tmp_path: Path) -> list[str]:
    """quilt refresh after each push leaves every patch as it is: with no mode bit, no rename, no
    empty hunk and no file without one."""
    try:
        after = refreshed(queue, sources, tmp_path)
    except ValueError as error:
        return [str(error)]
    return [f"{patch.name}: quilt refresh changes it; this mends it: make refresh"
            for patch in queue.patches if after[patch.name] != patch.path.read_bytes()]


def check_groups_needs(queue: Queue, sources: Sources, tmp_path: Path) -> list[str]:
    """Each group applies with what it needs, and needs each of that or gives the reason."""
    repo = make_repo(queue, sources, tmp_path / "groups-needs")
    findings: list[str] = []
    for group in queue.groups:
        others, needed = queue.needs(group)
        chosen = queue.choose(others or [group.name])
        checkout(repo, "base")
        found = git_am(repo, chosen)
        findings += [f"group {group.name} with what it needs: {finding}" for finding in found]
        for name, word in needed.items():
            if found or group.needs[word]:
                continue
            checkout(repo, "base")
            if not git_am(repo, [patch for patch in chosen if patch.name != name]):
                findings.append(f"group {group.name} applies without {name}: give the reason")
    return findings
