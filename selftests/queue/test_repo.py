# SPDX-License-Identifier: GPL-2.0
"""The repository's own files, and the checks of them against tiny ones."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from selftests.queue import checks_needs as needs
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


@pytest.fixture(scope="module")
def packages(root: Path) -> tuple[set[str], set[str]]:
    """The files of the packages that are listed, and the programs that their probes name."""
    if not shutil.which("dpkg-query"):
        pytest.skip("no dpkg here that knows which package a file is of")
    listed, probes = needs.listed_packages(root)
    return needs.installed_files(listed), probes


def test_repo_programs_listed(root: Path, files: list[Path], packages: tuple[set[str], set[str]]) -> None:
    none(needs.check_programs(root, files, *packages))


def test_repo_headers_listed(root: Path, files: list[Path], packages: tuple[set[str], set[str]]) -> None:
    none(needs.check_headers(root, files, packages[0], Path(os.environ["CF_TREE"])))


def test_repo_modules_pinned(root: Path, files: list[Path]) -> None:
    kunit = Path(os.environ["CF_TREE"]) / "tools/testing/kunit"
    none(needs.check_modules(root, files, {path.stem for path in kunit.glob("*.py")}))


def test_selftest_repo_needs(small: Path) -> None:
    """What no list has is found in shell, Python and C; what a list, the shell or the repository has is not."""
    (small / "configs").mkdir()
    (small / "configs/packages").write_text("# a list\n[test] all\nsed-package cmd sed\nh-package file /usr/include/h.h\n")
    (small / "configs/requirements.txt").write_text("pytest==1\nloose\n")
    assert needs.listed_packages(small) == ({"sed-package", "h-package"}, {"sed"})
    (small / "scripts/run.sh").write_text("#!/bin/sh\nf() { local a; x=$(sed p | nice -n 5 absent1); }\nf 'absent0'; [ -e x ] || exec absent2\n")
    (small / "scripts/a.py").write_text("import os, a, pytest, absent3\nrun(['absent4', 'x'])\nshutil.which('absent5')\nrun([os.x])\n")
    (small / "scripts/c.c").write_text("#include <h.h>\n#include <absent6.h>\n")
    files = listed(small)
    found = needs.check_programs(small, files, {"/bin/nice"}, {"sed"})
    found += needs.check_headers(small, files, {"/usr/include/h.h"}, small)
    found += needs.check_modules(small, files, set())
    some(found, "absent1: no", "absent2: no", "absent3: no", "absent4: no", "absent5: no", "<absent6.h>: no", "loose: not pinned")
    assert len(found) == 7, found


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
