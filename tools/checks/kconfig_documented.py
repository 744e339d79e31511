# SPDX-License-Identifier: GPL-2.0
"""A document does not name a new option, or an option is on by default."""

import re
from pathlib import Path

from tools.checks.findings import no_finding, some
from tools.groups import options
from tools.series import Series
from tools.tree.small_series import Builder
from tools.tree.state import States

KCONFIG = """config FIRST
	bool "The first"
	default y

"""


def check(series: Series, final: Path) -> list[str]:
    """A document names each new option that has a prompt, and none is on by default.

    checkpatch looks at the help. Args: the series, the touched files after the series.
    """
    documents = [final / path for path in series.paths if path.startswith("Documentation/")]
    documents += [series.root / "README.md", *(series.root / "Documentation").glob("*.rst")]
    known = "\n".join(path.read_text(errors="replace") for path in documents if path.is_file())
    findings = [f"{symbol}: named in no document" for symbol in options(series.patches)
                if not re.search(rf"\b(?:CONFIG_)?{symbol}\b", known)]
    return findings + [f"{patch.name}: {diff.path}: default y" for patch in series.patches
                       for diff in patch.files if Path(diff.path).name.startswith("Kconfig")
                       and re.search(r"^\s+default y\b", "\n".join(diff.added), re.M)]


test_kconfig_documented = no_finding(check)


def test_selftest_kconfig_documented(builder: Builder, tmp_path: Path) -> None:
    series = builder.edit("lib: Add FIRST", {"lib/Kconfig": KCONFIG}).write()
    final = States(series, builder.sources, tmp_path / "states").export(1, tmp_path / "after")
    some(check(series, final),
         "FIRST: named in no document", "default y")
