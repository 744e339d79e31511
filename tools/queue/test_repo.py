# SPDX-License-Identifier: GPL-2.0
"""The repository's own files, and the checks of them against tiny ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.environment import ROOT
from tools.queue import checks_repo as checks
from tools.queue.verdict import no_finding

pytestmark = pytest.mark.static


@pytest.fixture(scope="module")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="module")
def files(root: Path) -> list[Path]:
    """Its files."""
    return checks.repo_files(root)


shellcheck = pytest.mark.skipif(not shutil.which("shellcheck"),
                                reason="shellcheck is not installed")
test_repo_spdx = no_finding(checks.check_spdx)
test_repo_whitespace = no_finding(checks.check_whitespace)
test_repo_no_machine = no_finding(checks.check_no_machine)
test_repo_links = no_finding(checks.check_links)
test_repo_shellcheck = shellcheck(no_finding(checks.check_shellcheck))
test_repo_pyflakes = no_finding(checks.check_pyflakes)
test_repo_readme = no_finding(checks.check_readme)
test_repo_phrases = no_finding(checks.check_phrases)


def test_selftest_repo_links(tmp_path: Path) -> None:
    page, readme = tmp_path / "a.rst", tmp_path / "README.md"
    page.write_text("`b <b.rst>`_\n")
    readme.write_text("# A\n[a](a.rst) [a](#a) [c](d/c.rst) [b](#b)\n")
    assert checks.check_links(tmp_path, [page, readme]) == [
        "a.rst: no b.rst", "README.md: no d/c.rst", "README.md: no #b"]


def test_selftest_repo_readme(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("help: ; @echo\n")
    (tmp_path / "README.md").write_text(
        "```\n$ make help && make -C tools x\nmake gone CONFIG=1\n```\n")
    assert checks.check_readme(tmp_path) == ["README.md: make gone: no such target"]
