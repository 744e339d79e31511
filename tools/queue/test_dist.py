# SPDX-License-Identifier: GPL-2.0
"""The tarball of make dist: quilt alone makes the tree of make apply from it."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tools.environment import ROOT
from tools.queue.scratch import Sources, copy_originals, tree_hash
from tools.series import load_queue

pytestmark = pytest.mark.robust


def run(*words: str | Path, cwd: Path, **more: str | Path) -> str:
    """Run a command, which has to succeed; return what it prints."""
    env = {name: value for name, value in os.environ.items()
           if name not in ("BUILD", "GROUP", "KDIR", "QUEUE", "QUILT_PATCHES")}
    env |= {name: str(path) for name, path in more.items()}
    done = subprocess.run(words, cwd=cwd, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_dist(tmp_path: Path) -> None:
    """Its sum holds, and quilt push -a gives the tree of make apply; a changed patch is refused."""
    clone, dist = tmp_path / "clone", tmp_path / "build/dist"
    run("git", "clone", "-q", ROOT, clone, cwd=tmp_path)
    run("tools/dist.sh", cwd=clone, BUILD=tmp_path / "build")
    [tarball] = dist.glob("*.tar.gz")
    run("sha256sum", "-c", f"{tarball.name}.sha256", cwd=dist)
    run("tar", "-xf", tarball, cwd=dist)
    queue, hashes = load_queue(clone), []
    for name in ("quilt", "apply"):
        tree = copy_originals(queue, Sources.from_env(), tmp_path / name)
        if name == "quilt":
            run("quilt", "--quiltrc", "-", "push", "-a", "-q", cwd=tree,
                QUILT_PATCHES=dist / tarball.name.removesuffix(".tar.gz") / "patches")
        else:
            run("tools/run", "tools.tree", "apply", cwd=clone, KDIR=tree, BUILD=tmp_path / "build")
        run("git", "init", "-q", cwd=tree)
        hashes.append(tree_hash(tree))
    assert hashes[0] == hashes[1]
    (clone / "series").write_text("# changed\n", encoding="utf-8")
    done = subprocess.run(["tools/dist.sh"], cwd=clone, capture_output=True, text=True,
                          env=os.environ | {"BUILD": str(tmp_path / "build")})
    assert done.returncode == 1 and "commit first: 1 changed files, such as series" in done.stderr
