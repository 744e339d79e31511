# SPDX-License-Identifier: GPL-2.0
"""The kernel's scripts on the queue, and the checks of that on tiny queues."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.environment import ROOT
from tools.groups import lost_lines
from tools.queue import checks_tree as checks
from tools.queue.fixtures import Builder
from tools.queue.proc import last_lines, run
from tools.queue.scratch import final_files
from tools.queue.verdict import none, some
from tools.series import Queue

HERE = Path(__file__).resolve().parent
SUBJECT = "lib: Count from one"
GOOD_C = "// SPDX-License-Identifier: GPL-2.0\nint one(void)\n{\n\treturn 1;\n}\n"
DOC = """/**
 * one() - the first number
 * @bass: what to add
 *
 * Return: the number.
 */
int one(int base);
"""
KCONFIG = """config FIRST
	bool "The first"
	default y

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
    root = ROOT
    done = run([root / "tools/debian-config.sh"])
    if done.returncode:
        pytest.skip(f"Debian's configuration is not to be had: {last_lines(done.stdout)}")
    none(checks.check_base_config((root / "configs/base.config").read_text(), done.stdout))


@pytest.mark.static
def test_selftest_checkpatch(builder: Builder, kernel: Path, tmp_path: Path) -> None:
    waivers = tmp_path / "waivers"
    waivers.write_text("# why\n* CODE_INDENT spaces here\n"
                       "other.patch CODE_INDENT not there\n* LONG_LINE\n")
    builder.edit(SUBJECT, {"MAINTAINERS": "X\nF:\tlib/one.c\n", "lib/one.c": GOOD_C})
    queue = builder.alter(SUBJECT, "+\treturn 1;", "+        return 1;  ")
    found = checks.check_checkpatch(queue, kernel, waivers)
    some(found, "TRAILING_WHITESPACE", "unused: other.patch CODE_INDENT",
         "no reason: '* LONG_LINE'")
    assert not any("ERROR:CODE_INDENT" in line for line in found)


@pytest.mark.static
def test_selftest_get_maintainer(builder: Builder, kernel: Path) -> None:
    builder.edit("nowhere: Count", {"nowhere/at/all.txt": "1\n"})
    some(checks.check_get_maintainer(builder.write(), kernel, builder.base),
         "nowhere-count.patch: ")


@pytest.mark.static
def test_selftest_kernel_doc(builder: Builder, kernel: Path, tmp_path: Path) -> None:
    queue = builder.edit("lib: Add b", {"lib/b.h": DOC}).write()
    base, final = final_files(queue, builder.sources, tmp_path)
    some(checks.check_kernel_doc(queue, kernel, base, final), "bass")


@pytest.mark.static
def test_selftest_kconfig_documented(builder: Builder, tmp_path: Path) -> None:
    queue = builder.edit("lib: Add FIRST", {"lib/Kconfig": KCONFIG}).write()
    _, final = final_files(queue, builder.sources, tmp_path)
    some(checks.check_kconfig_documented(queue, final),
         "FIRST: named in no document", "default y")


@pytest.mark.static
def test_selftest_config_lines() -> None:
    fragment = '# why\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="x"\nCONFIG_D=n\n'
    none(lost_lines(fragment, 'CONFIG_A=y\nCONFIG_C="x"\n# CONFIG_B is not set\n'))
    lost = lost_lines(fragment, "CONFIG_A=m\nCONFIG_B=y\nCONFIG_D=y\n")
    assert lost == ["CONFIG_A=y", "# CONFIG_B is not set", 'CONFIG_C="x"', "CONFIG_D=n"]
