# SPDX-License-Identifier: GPL-2.0
"""kernel-doc warns of a file as it did not before the series."""

import re
from collections import Counter
from pathlib import Path

from tools.checks.findings import no_finding, some
from tools.command import last_lines, run
from tools.series import Series
from tools.tree.small_series import Builder
from tools.tree.state import States

DOC_SUFFIXES = {".c", ".h", ".S"}
DOC = """/**
 * one() - the first number
 * @bass: what to add
 *
 * Return: the number.
 */
int one(int base);
"""


def doc_warnings(paths: list[str], root: Path, kernel: Path) -> Counter[str]:
    """Return kernel-doc's warnings for those of the files that are there, without line numbers."""
    there = [path for path in paths if (root / path).is_file()]
    words = [kernel / "scripts/kernel-doc", "-none", "-Wall", "-Werror", *there]
    env = {"srctree": str(kernel), "PYTHONDONTWRITEBYTECODE": "1"}
    done = run(words, root, env=env) if there else run(["true"])
    lines = [line for line in done.stdout.splitlines() if "arning" in line or "rror:" in line]
    if done.returncode and not lines:
        lines = [f"kernel-doc: {last_lines(done.stdout)}"]
    return Counter(
        re.sub(r":\d+", "", line.replace(f"{root}/", "")).strip()
        for line in lines
        if "treated as errors" not in line and "warnings as errors" not in line.lower()
    )


def check(series: Series, kernel: Path, base: Path, final: Path) -> list[str]:
    """kernel-doc has no warning for the final files that it had not before.

    Args: the series, the kernel tree, the touched files before and after.
    """
    paths = [path for path in series.paths
             if Path(path).suffix in DOC_SUFFIXES and (final / path).is_file()
             and "/**" in (final / path).read_text(errors="replace")]
    return sorted(doc_warnings(paths, final, kernel) - doc_warnings(paths, base, kernel))


test_kernel_doc = no_finding(check)


def test_selftest_kernel_doc(builder: Builder, kernel: Path, tmp_path: Path) -> None:
    series = builder.edit("lib: Add b", {"lib/b.h": DOC}).write()
    states = States(series, builder.sources, tmp_path / "states")
    before_and_after = (states.export(at, tmp_path / str(at)) for at in (0, 1))
    some(check(series, kernel, *before_and_after), "bass")
