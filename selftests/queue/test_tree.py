# SPDX-License-Identifier: GPL-2.0
"""The kernel's scripts on the queue, and the checks of that on tiny queues."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from selftests.groups import lost_lines
from selftests.queue import checks_tree as checks
from selftests.queue.fixtures import Builder
from selftests.queue.patchqueue import Queue
from selftests.queue.proc import last_lines, run
from selftests.queue.scratch import final_files
from selftests.queue.verdict import none, some

HERE = Path(__file__).resolve().parent
SUBJECT = "lib: Count from one"
GOOD_C = "// SPDX-License-Identifier: GPL-2.0\nint one(void)\n{\n\treturn 1;\n}\n"
DOC = """/**
 * one() - the first number
 * @base: what to add
 *
 * Return: the number.
 */
int one(int base);
"""
KCONFIG = """config FIRST
	bool "The first"
	help
	  One.
	  Two.
	  Three.

config HIDDEN
	bool

"""


@pytest.mark.static
def test_checkpatch(queue: Queue, kernel: Path) -> None:
    none(checks.check_checkpatch(queue, kernel, HERE / "checkpatch-waivers"))


@pytest.mark.static
def test_get_maintainer(queue: Queue, kernel: Path, files: tuple[Path, Path]) -> None:
    none(checks.check_get_maintainer(queue, kernel, files[1]))


@pytest.mark.static
def test_kernel_doc(queue: Queue, kernel: Path, files: tuple[Path, Path]) -> None:
    none(checks.check_kernel_doc(queue, kernel, *files))


@pytest.mark.static
def test_kconfig_documented(queue: Queue, files: tuple[Path, Path]) -> None:
    none(checks.check_kconfig_documented(queue, files[1]))


@pytest.mark.full
def test_base_config_debian() -> None:
    root = Path(os.environ["CF_ROOT"])
    done = run([root / "scripts/debian-config.sh"])
    if done.returncode:
        pytest.skip(f"Debian's configuration is not to be had: {last_lines(done.stdout)}")
    none(checks.check_base_config((root / "configs/base.config").read_text(), done.stdout))


@pytest.mark.static
def test_selftest_checkpatch(builder: Builder, kernel: Path, tmp_path: Path) -> None:
    waivers = tmp_path / "waivers"
    maintainers = {"MAINTAINERS": "X\nF:\tlib/one.c\n", "lib/one.c": GOOD_C}
    queue = builder.edit(SUBJECT, maintainers).write()
    none(checks.check_checkpatch(queue, kernel, waivers))
    queue = builder.alter(SUBJECT, "+\treturn 1;", "+        return 1;  ")
    found = checks.check_checkpatch(queue, kernel, waivers)
    some(found, "CODE_INDENT", "TRAILING_WHITESPACE")
    lines = ["# why", "* CODE_INDENT spaces here", "* TRAILING_WHITESPACE and here"]
    lines += ["* LEADING_SPACE the same"]
    waivers.write_text("\n".join(lines) + "\n")
    none(checks.check_checkpatch(queue, kernel, waivers))
    lines += ["other.patch CODE_INDENT not there", "* LONG_LINE"]
    waivers.write_text("\n".join(lines) + "\n")
    found = checks.check_checkpatch(queue, kernel, waivers)
    some(found, "unused: other.patch CODE_INDENT", "no reason: '* LONG_LINE'")
    waivers.write_text("* LONG_LINE why\n" * 11)
    some(checks.check_checkpatch(queue, kernel, waivers), "11 waivers")


@pytest.mark.static
def test_selftest_get_maintainer(builder: Builder, kernel: Path) -> None:
    builder.edit("x86: Count from one", {"arch/x86/lib/one.c": GOOD_C})
    none(checks.check_get_maintainer(builder.write(), kernel, builder.base))
    builder.edit("nowhere: Count", {"nowhere/at/all.txt": "1\n"})
    (finding,) = checks.check_get_maintainer(builder.write(), kernel, builder.base)
    assert finding.startswith("nowhere-count.patch: ")
    builder.edit("nowhere: Count on", {"nowhere/at/all.txt": "2\n"},
                 body="Count on.\n\nCc: A Person <person@example.org>")
    assert checks.check_get_maintainer(builder.write(), kernel, builder.base) == [finding]


@pytest.mark.static
def test_selftest_kernel_doc(builder: Builder, kernel: Path, tmp_path: Path) -> None:
    builder.edit("lib: Add a", {"lib/a.h": DOC})
    queue = builder.write()
    final = final_files(queue, builder.sources, tmp_path / "1")
    none(checks.check_kernel_doc(queue, kernel, *final))
    builder.edit("lib: Add b", {"lib/b.h": DOC.replace("@base", "@bass")})
    queue = builder.write()
    base, final = final_files(queue, builder.sources, tmp_path / "2")
    some(checks.check_kernel_doc(queue, kernel, base, final), "bass")
    # What warned before is not new, wherever it stands now.
    (base / "lib").mkdir()
    (base / "lib/b.h").write_text("\n\n" + (final / "lib/b.h").read_text())
    none(checks.check_kernel_doc(queue, kernel, base, final))


@pytest.mark.static
def test_selftest_kconfig_documented(builder: Builder, tmp_path: Path) -> None:
    docs = {"Documentation/a.rst": "CONFIG_FIRST counts.\n", "lib/Kconfig": KCONFIG}
    queue = builder.edit("lib: Add FIRST", docs).write()
    _, final = final_files(queue, builder.sources, tmp_path / "1")
    none(checks.check_kconfig_documented(queue, final))
    (final / "Documentation/a.rst").write_text("CONFIG_FIRSTLY\n")
    some(checks.check_kconfig_documented(queue, final), "FIRST: named in no document")
    (queue.root / "README.md").write_text("| CONFIG_FIRST | cost |\n")
    none(checks.check_kconfig_documented(queue, final))
    short = KCONFIG.replace("\t  Two.\n", "").replace("help", "default y\n\thelp")
    (final / "lib/Kconfig").write_text(short)
    some(checks.check_kconfig_documented(queue, final), "2 lines of help", "default y")


@pytest.mark.static
def test_selftest_config_lines() -> None:
    fragment = '# why\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="x"\nCONFIG_D=n\n'
    none(lost_lines(fragment, 'CONFIG_A=y\nCONFIG_C="x"\n# CONFIG_B is not set\n'))
    lost = lost_lines(fragment, "CONFIG_A=m\nCONFIG_B=y\nCONFIG_D=y\n")
    assert lost == ["CONFIG_A=y", "# CONFIG_B is not set", 'CONFIG_C="x"', "CONFIG_D=n"]
