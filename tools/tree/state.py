# SPDX-License-Identifier: GPL-2.0
"""The states of the series: a git tree after each patch, in a small repository of the files that
the series touches or in a user's. Checks, step builds, identity, branches and mails are made of
them. Neither a work tree nor an index changes, but by check_out()."""

from __future__ import annotations

import email.utils
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tools.command import Stop, must, run
from tools.series import Patch, Series
from tools.tree.sources import Sources

BLANKS = "whitespace=-blank-at-eol,-blank-at-eof,-space-before-tab"


def trees(repo: Path, base: str, patches: Iterable[Patch], user: bool = False) -> list[str]:
    """Return the tree of a revision and the one after each patch on top of it, as git apply makes
    them; user: with the user's git settings.

    Raises Stop with the patch that does not apply, and OSError.
    """
    with tempfile.TemporaryDirectory() as scratch:
        env = {"GIT_INDEX_FILE": f"{scratch}/index"}
        must(["git", "read-tree", base], repo, env=env, user=user)
        found = [must(["git", "write-tree"], repo, env=env, user=user).strip()]
        for patch in patches:
            done = run(["git", "apply", "--cached", "--whitespace=nowarn", patch.path], repo,
                       env=env, user=user)
            if done.returncode:
                raise Stop(f"{patch.name} does not apply: {done.stdout.splitlines()[0]}")
            found.append(must(["git", "write-tree"], repo, env=env, user=user).strip())
        return found


def commits(repo: Path, parent: str, patches: list[Patch], mine: bool = False) -> str:
    """Return the last of new commits on top of a revision, one for each patch.

    mine: by the user of the repository, not by the patch's From. Raises Stop, OSError.
    """
    last = must(["git", "rev-parse", parent], repo, user=True).strip()
    for patch, tree in zip(patches, trees(repo, last, patches, user=True)[1:], strict=True):
        name, address = email.utils.parseaddr(patch.header("From"))
        author = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address,
                  "GIT_AUTHOR_DATE": patch.header("Date")}
        title = re.sub(r"^\[[^\]]*\] *", "", patch.header("Subject"))
        last = must(["git", "commit-tree", tree, "-p", last], repo, f"{title}\n\n{patch.body}\n",
                    {} if mine else author, user=True).strip()
    return last


def add_all(directory: Path) -> str:
    """Add everything but quilt's files to the index; return the hash of the tree."""
    must(["git", "add", "-A", "-f", "--", ".", ":!.pc", ":!patches"], directory)
    return must(["git", "write-tree"], directory).strip()


def make_repo(paths: list[str], sources: Sources, into: Path) -> Path:
    """Make a git repository of files as they were before the series, with one commit, base."""
    sources.copy(paths, into)
    must(["git", "init", "-q", "-b", "main"], into)
    for setting in ("core.fileMode=true", "core.autocrlf=false", f"core.{BLANKS}", "gc.auto=0"):
        must(["git", "config", *setting.split("=", 1)], into)
    add_all(into)
    must(["git", "commit", "-q", "--allow-empty", "-m", "base"], into)
    must(["git", "tag", "base"], into)
    return into


class States:
    """The files that the series touches after each number of patches, as trees of a repository."""

    def __init__(self, series: Series, sources: Sources, repo: Path) -> None:
        """Make the repository, anew; raises as trees()."""
        shutil.rmtree(repo, ignore_errors=True)
        self.repo = make_repo(series.paths, sources, repo)
        self.paths = series.paths
        self.trees = trees(self.repo, "base", series.patches)
        self.listed: dict[int, dict[str, str]] = {}

    def files(self, number: int) -> dict[str, str]:
        """Return mode and hash of each touched file after `number` patches, by path."""
        if number not in self.listed:
            lines = must(["git", "ls-tree", "-r", self.trees[number]], self.repo).splitlines()
            rows = [line.split(None, 3) for line in lines]
            self.listed[number] = {path: f"{mode} {name}" for mode, _, name, path in rows
                                   if path in self.paths}
        return self.listed[number]

    def check_out(self, number: int) -> Path:
        """Bring the files of the repository to a state; returns its directory."""
        must(["git", "read-tree", "--reset", "-u", self.trees[number]], self.repo)
        return self.repo

    def export(self, number: int, into: Path) -> Path:
        """Write the files of a state to a directory, which is returned."""
        with tempfile.TemporaryDirectory() as scratch:
            env = {"GIT_INDEX_FILE": f"{scratch}/index"}
            must(["git", "read-tree", self.trees[number]], self.repo, env=env)
            must(["git", "checkout-index", "-a", f"--prefix={into}/"], self.repo, env=env)
        return into
