# SPDX-License-Identifier: GPL-2.0
"""The repository's own files, and the checks of them against tiny ones."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from selftests.queue import checks_repo as checks
from selftests.queue.verdict import no_finding, none, some

pytestmark = pytest.mark.static


@pytest.fixture(scope="module")
def root() -> Path:
    """The repository."""
    return Path(os.environ["CF_ROOT"])


@pytest.fixture(scope="module")
def files(root: Path) -> list[Path]:
    """Its files."""
    return checks.repo_files(root)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A tiny repository without a finding."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / ".ci").mkdir()
    spdx = "# SPDX-License-Identifier: GPL-2.0\n"
    for name, text in (
        ("scripts/run.sh", f"#!/bin/sh\n{spdx}. scripts/lib.sh\n"),
        ("scripts/lib.sh", f"{spdx}# shellcheck shell=sh\n"),
        ("scripts/a.py", f"#!/usr/bin/python3\n{spdx}"),
        ("Makefile", f"{spdx}help test-it: ; @echo\n"),
        ("README.md", "Say `make test-it`, or\n\n    make help\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "scripts/run.sh").chmod(0o755)
    (tmp_path / "scripts/a.py").chmod(0o755)
    return tmp_path


def listed(root: Path) -> list[Path]:
    """Return the files below a directory."""
    return sorted(path for path in root.rglob("*") if path.is_file())


shellcheck = pytest.mark.skipif(not shutil.which("shellcheck"),
                                reason="shellcheck is not installed")
test_repo_spdx = no_finding(checks.check_spdx)
test_repo_whitespace = no_finding(checks.check_whitespace)
test_repo_no_machine = no_finding(checks.check_no_machine)
test_repo_links = no_finding(checks.check_links)
test_repo_scripts = no_finding(checks.check_scripts)
test_repo_shellcheck = shellcheck(no_finding(checks.check_shellcheck))
test_repo_python = no_finding(checks.check_python)
test_repo_readme = no_finding(checks.check_readme)


def test_selftest_repo_spdx(small: Path) -> None:
    none(checks.check_spdx(small, listed(small)))
    (small / "scripts/b").write_text("#!/bin/sh\n")
    (small / "c.h").write_text("int c;\n")
    found = checks.check_spdx(small, listed(small))
    some(found, "scripts/b: no SPDX", "c.h: no SPDX")


def test_selftest_repo_whitespace(small: Path) -> None:
    none(checks.check_whitespace(small, listed(small)))
    (small / "a.txt").write_text("one" + " \ntwo")
    some(checks.check_whitespace(small, listed(small)), "a.txt:1: trailing", "no newline")


@pytest.mark.parametrize("text", [
    "see /" + "root/x", "/" + "tmp/kp/linux", "http://deb." + "debian.org/", "=/" + "work/x"])
def test_selftest_repo_no_machine(small: Path, text: str) -> None:
    (small / "b.txt").write_text("/usr/bin/env /tmp and /sys/kernel are everywhere\n")
    none(checks.check_no_machine(small, listed(small)))
    (small / "b.txt").write_text(text + "\n")
    some(checks.check_no_machine(small, listed(small)), "b.txt:1")


def test_selftest_repo_links(small: Path) -> None:
    (small / "a.rst").write_text("`a <a.rst>`_ `b <http://localhost/x>`_\n")
    (small / "README.md").write_text("# What it has\n[a](a.rst) [b](#what-it-has)\n")
    none(checks.check_links(small, listed(small)))
    (small / "a.rst").write_text("`b <b.rst>`_\n")
    (small / "README.md").write_text("# A\n[c](d/c.rst) [b](#b)\n")
    some(checks.check_links(small, listed(small)), "a.rst: no b.rst", "README.md: no d/c.rst",
         "README.md: no #b")


def test_selftest_repo_scripts(small: Path) -> None:
    none(checks.check_scripts(small))
    (small / "scripts/stray.sh").write_text("\n")
    some(checks.check_scripts(small), "stray.sh: neither")
    (small / "scripts/stray.sh").chmod(0o755)
    some(checks.check_scripts(small), "stray.sh: executable without")


@shellcheck
def test_selftest_repo_shellcheck(small: Path) -> None:
    none(checks.check_shellcheck(small))
    (small / ".ci/run").write_text("#!/bin/sh\nrm -rf $1/*\n")
    some(checks.check_shellcheck(small), ".ci/run:2")


def test_selftest_repo_python(small: Path, tmp_path: Path) -> None:
    none(checks.check_python(small, listed(small), tmp_path / "cache"))
    (small / "scripts/b.py").write_text("def (:\n")
    some(checks.check_python(small, listed(small), tmp_path / "cache"), "compileall")


def test_selftest_repo_readme(small: Path) -> None:
    none(checks.check_readme(small))
    code = "$ make help && make -C tools x\nmake gone CONFIG=1"
    (small / "README.md").write_text(f"```\n{code}\n```\n")
    assert checks.check_readme(small) == ["README.md: make gone: no such target"]
