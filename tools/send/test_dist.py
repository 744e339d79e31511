# SPDX-License-Identifier: GPL-2.0
"""The tarball of make dist: quilt alone makes the tree of make apply from it."""
from pathlib import Path

import pytest

from tools.environment import ROOT
from tools.command import must, run
from tools.tree.sources import Sources
from tools.tree.state import add_all
from tools.series import load_series

pytestmark = pytest.mark.robust


def test_dist(tmp_path: Path) -> None:
    """Its sum holds, and quilt push -a gives the tree of make apply; a changed patch is refused."""
    clone, dist = tmp_path / "clone", tmp_path / "build/dist"
    given = {"BUILD": str(tmp_path / "build"), "GROUP": "", "QUEUE": ""}
    must(["git", "clone", "-q", ROOT, clone])
    assert run(["tools/send/dist.sh"], clone, env=given).returncode == 0
    [tarball] = dist.glob("*.tar.gz")
    must(["sha256sum", "-c", f"{tarball.name}.sha256"], dist)
    must(["tar", "-xf", tarball], dist)
    patches, hashes = str(dist / tarball.name.removesuffix(".tar.gz") / "patches"), []
    for words, env in ((["quilt", "--quiltrc", "-", "push", "-aq"], {"QUILT_PATCHES": patches}),
                       ([clone / "tools/run", "tools.tree.apply", "apply"], given)):
        tree = tmp_path / f"tree{len(hashes)}"
        Sources.from_env().copy(load_series(clone).paths, tree)
        done = run(words, tree, env=env | {"KDIR": str(tree)})
        assert done.returncode == 0, done.stdout
        must(["git", "init", "-q"], tree)
        hashes.append(add_all(tree))
    assert hashes[0] == hashes[1]
    (clone / "series").write_text("# changed\n", encoding="utf-8")
    done = run(["tools/send/dist.sh"], clone, env=given)
    assert done.returncode == 1 and "commit first: 1 changed files, such as series" in done.stdout
