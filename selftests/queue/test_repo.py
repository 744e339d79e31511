# SPDX-License-Identifier: GPL-2.0
"""The repository's own files, and the checks of them against tiny ones."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from selftests.queue import checks_repo as checks
from selftests.queue.verdict import none, some

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
    texts = {
        "scripts/run.sh": "#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0\n# shellcheck source=scripts/lib.sh\n. scripts/lib.sh\n",
        "scripts/lib.sh": "# SPDX-License-Identifier: GPL-2.0\n# shellcheck shell=sh\n",
        "scripts/a.py": "# SPDX-License-Identifier: GPL-2.0\n",
        "Makefile": "# SPDX-License-Identifier: GPL-2.0\nhelp test-it: ; @echo\n",
        "README.md": "Say `make test-it`, or\n\n    make help\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "scripts/run.sh").chmod(0o755)
    (tmp_path / "scripts/a.py").write_text("#!/usr/bin/python3\n# SPDX-License-Identifier: GPL-2.0\n")
    (tmp_path / "scripts/a.py").chmod(0o755)
    return tmp_path


def listed(root: Path) -> list[Path]:
    """Return the files below a directory."""
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_repo_spdx(root: Path, files: list[Path]) -> None:
    none(checks.check_spdx(root, files))


def test_repo_whitespace(root: Path, files: list[Path]) -> None:
    none(checks.check_whitespace(root, files))


def test_repo_no_machine(root: Path, files: list[Path]) -> None:
    none(checks.check_no_machine(root, files))


def test_repo_scripts(root: Path) -> None:
    none(checks.check_scripts(root))


def test_repo_shellcheck(root: Path) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    none(checks.check_shellcheck(root))


def test_repo_python(root: Path, files: list[Path], tmp_path: Path) -> None:
    none(checks.check_python(root, files, tmp_path))


def test_repo_readme(root: Path) -> None:
    none(checks.check_readme(root))


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


@pytest.mark.parametrize(
    "text", ["see /" + "root/x", "/" + "tmp/kp/linux", "http://deb." + "debian.org/", "=/" + "work/x"]
)
def test_selftest_repo_no_machine(small: Path, text: str) -> None:
    (small / "b.txt").write_text("/usr/bin/env /tmp and /sys/kernel are everywhere\n")
    none(checks.check_no_machine(small, listed(small)))
    (small / "b.txt").write_text(text + "\n")
    some(checks.check_no_machine(small, listed(small)), "b.txt:1")


def test_selftest_repo_scripts(small: Path) -> None:
    none(checks.check_scripts(small))
    (small / "scripts/stray.sh").write_text("\n")
    some(checks.check_scripts(small), "stray.sh: neither")
    (small / "scripts/stray.sh").chmod(0o755)
    some(checks.check_scripts(small), "stray.sh: executable without")


def test_selftest_repo_shellcheck(small: Path) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    none(checks.check_shellcheck(small))
    (small / ".ci/run").write_text("#!/bin/sh\nrm -rf $1/*\n")
    some(checks.check_shellcheck(small), ".ci/run:2")


def test_selftest_repo_python(small: Path, tmp_path: Path) -> None:
    none(checks.check_python(small, listed(small), tmp_path / "cache"))
    (small / "scripts/b.py").write_text("def (:\n")
    some(checks.check_python(small, listed(small), tmp_path / "cache"), "compileall")


def test_selftest_repo_readme(small: Path) -> None:
    none(checks.check_readme(small))
    (small / "README.md").write_text("```\n$ make help && make -C tools x\nmake gone CONFIG=1\n```\n")
    assert checks.check_readme(small) == ["README.md: make gone: no such target"]
