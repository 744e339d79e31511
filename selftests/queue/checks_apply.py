# SPDX-License-Identifier: GPL-2.0
"""Checks that apply the series: each way of doing so, groups alone, ranges."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from selftests.queue.patchqueue import Group, Hunk, Patch, Queue, parse_diff
from selftests.queue.proc import last_lines, must, run
from selftests.queue.scratch import Sources, checkout, copy_originals, git_am, make_repo, tree_hash


@dataclass(frozen=True)
class Applied:
    """The tree that one way of applying gives, or why it gives none."""

    findings: list[str]
    tree: str


def quilt(queue: Queue, cwd: Path, *words: str, patches: Path | None = None):
    """Run quilt in cwd with the queue's own settings and no user's."""
    rc = queue.root / "scripts/quiltrc"
    env = {"QUILT_PATCHES": str(patches or queue.directory), "QUILT_PC": ".pc"}
    return run(["quilt", "--quiltrc", rc if rc.is_file() else "-", *words], cwd, env=env)


def by_quilt(queue: Queue, repo: Path) -> list[str]:
    """Push everything with quilt, without fuzz."""
    done = quilt(queue, repo, "push", "-a", "--fuzz=0")
    return [f"quilt push -a: {last_lines(done.stdout)}"] if done.returncode else []


def by_patch(queue: Queue, repo: Path) -> list[str]:
    """Apply each patch with patch -p1 -F0, and stop at the first that fails."""
    for patch in queue.patches:
        words = ["patch", "-p1", "-F0", "-E", "-s", "-f", "--no-backup-if-mismatch"]
        done = run([*words, "-i", patch.path], repo)
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


WAYS = {
    "quilt": by_quilt,
    "patch": by_patch,
    "git_am": by_git_am,
    "quiltimport": by_quiltimport,
}


def apply_all(queue: Queue, sources: Sources, scratch: Path) -> dict[str, Applied]:
    """Apply the series in each of the four ways.

    Args: the queue, the sources, a directory for one repository per way.
    Returns the outcome per way.
    """
    results: dict[str, Applied] = {}
    first = make_repo(queue, sources, scratch / "base")
    for way, apply in WAYS.items():
        repo = scratch / way
        shutil.copytree(first, repo, symlinks=True)
        must(["git", "update-index", "-q", "--refresh"], repo)
        findings = apply(queue, repo)
        results[way] = Applied(findings, "" if findings else tree_hash(repo))
    return results


def check_apply(results: dict[str, Applied], way: str) -> list[str]:
    """One way applies, and its tree is that of the other ways."""
    result = results[way]
    if result.findings:
        return result.findings
    return [
        f"{way} and {other} give different trees: {result.tree} and {found.tree}"
        for other, found in results.items()
        if found.tree and found.tree != result.tree
    ]


def refreshed(queue: Queue, sources: Sources, scratch: Path) -> dict[str, bytes]:
    """Return each patch file as quilt refresh writes it after the push, by name.

    Args: the queue, the sources, a directory for copies of both.
    Raises ValueError with one line that names the first patch that does not apply.
    """
    copy_originals(queue, sources, scratch / "tree")
    patches = scratch / "patches"
    patches.mkdir()
    shutil.copy(queue.root / "series", patches / "series")
    for patch in queue.patches:
        shutil.copy(patch.path, patches)
    for patch in queue.patches:
        for words in (["push", "--fuzz=0"], ["refresh"]):
            done = quilt(queue, scratch / "tree", *words, patches=patches)
            if done.returncode:
                raise ValueError(f"{patch.name}: quilt {words[0]}: {last_lines(done.stdout)}")
    return {patch.name: (patches / patch.name).read_bytes() for patch in queue.patches}


def check_refresh_stable(queue: Queue, sources: Sources, scratch: Path) -> list[str]:
    """quilt refresh after each push leaves every patch as it is."""
    if not (queue.root / "scripts/quiltrc").is_file():
        return ["scripts/quiltrc is missing"]
    try:
        after = refreshed(queue, sources, scratch)
    except ValueError as error:
        return [str(error)]
    return [
        f"{patch.name}: quilt refresh changes it; this mends it: make refresh"
        for patch in queue.patches
        if after[patch.name] != patch.path.read_bytes()
    ]


@dataclass(frozen=True)
class Range:
    """Lines first to last of a file that a patch touches, context included."""

    path: str
    first: int
    last: int
    patch: str


def follow(origin: list[int | None], hunks: tuple[Hunk, ...]) -> list[list[int]]:
    """Apply hunks to a list of line origins, in place.

    Args: for each line of the file its number at the start or None if it was
    added since; the hunks with exact positions.
    Returns per hunk the numbers of the starting lines it covers.
    """
    covered: list[list[int]] = []
    for hunk in reversed(hunks):
        start = max(hunk.old_start - 1, 0) if hunk.old_count else hunk.old_start
        old = origin[start : start + hunk.old_count]
        covered.insert(0, [number for number in old if number is not None])
        fresh: list[int | None] = []
        at = 0
        for line in hunk.lines:
            if line[0] == "+":
                fresh.append(None)
                continue
            if line[0] == " ":
                fresh.append(old[at])
            at += 1
        origin[start : start + hunk.old_count] = fresh
    return covered


def footprint(repo: Path, start: str, end: str) -> list[Range]:
    """Return the ranges of the starting files that the commits start..end touch."""
    origins: dict[str, list[int | None]] = {}
    ranges: list[Range] = []
    log = must(["git", "log", "--reverse", "--format=%H %s", f"{start}..{end}"], repo)
    for line in log.splitlines():
        commit, _, subject = line.partition(" ")
        diff = must(["git", "diff", "-U3", "--no-renames", f"{commit}^", commit], repo)
        for change in parse_diff(diff):
            if change.path not in origins:
                old = run(["git", "show", f"{start}:{change.path}"], repo)
                count = 0 if old.returncode else len(old.stdout.split("\n"))
                origins[change.path] = list(range(1, count + 1))
            for lines in follow(origins[change.path], change.hunks):
                if lines:
                    ranges.append(Range(change.path, min(lines), max(lines), subject))
    return ranges


def check_groups_apply(queue: Queue, sources: Sources, scratch: Path) -> list[str]:
    """The ungated groups and any one gated group apply without the others, and do not touch.

    A group that needs others is left out.
    """
    repo = make_repo(queue, sources, scratch)
    ungated = [patch for group in queue.groups if not group.gated for patch in group.patches]
    findings = git_am(repo, ungated)
    if findings:
        return [f"ungated groups: {finding}" for finding in findings]
    must(["git", "tag", "prepared"], repo)
    touched: dict[str, list[Range]] = {}
    for group in queue.groups:
        if not group.gated or queue.needs(group)[0]:
            continue
        checkout(repo, "prepared")
        found = git_am(repo, group.patches)
        findings += [f"group {group.name} without the others: {finding}" for finding in found]
        if not found:
            touched[group.name] = footprint(repo, "prepared", "HEAD")
            findings += same_new_files(group, queue.groups)
    return findings + overlaps(touched)


def check_groups_needs(queue: Queue, sources: Sources, scratch: Path) -> list[str]:
    """Each group applies with what it needs, and needs each of that or gives the reason."""
    repo = make_repo(queue, sources, scratch)
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


def new_files(patches: list[Patch]) -> set[str]:
    """Return the files that patches add."""
    return {diff.path for patch in patches for diff in patch.files if diff.new}


def same_new_files(group: Group, groups: list[Group]) -> list[str]:
    """Report files that this group and a later one both add."""
    later = groups[groups.index(group) + 1 :]
    return [
        f"groups {group.name} and {other.name} both add {path}"
        for other in later
        for path in sorted(new_files(group.patches) & new_files(other.patches))
    ]


def overlaps(touched: dict[str, list[Range]]) -> list[str]:
    """Report ranges of two groups that share a line, context included."""
    findings: list[str] = []
    names = list(touched)
    for at, name in enumerate(names):
        for other in names[at + 1 :]:
            for left in touched[name]:
                for right in touched[other]:
                    shared = left.path == right.path
                    if shared and left.first <= right.last and right.first <= left.last:
                        findings.append(
                            f"{left.path}: groups {name} and {other} touch at line "
                            f"{max(left.first, right.first)}: '{left.patch}', '{right.patch}'"
                        )
    return findings
