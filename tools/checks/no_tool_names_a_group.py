# SPDX-License-Identifier: GPL-2.0
"""A tool names a group, so that a group is more than its files."""

import re

import pytest

from tools import groups
from tools.checks.repository import repo_files
from tools.environment import ROOT

pytestmark = pytest.mark.static
TOOLS = ("Makefile", "tools/", ".ci/")


def test_no_tool_names_a_group() -> None:
    """A tool finds groups in the banners and folders; its tests may take any name."""
    names = "|".join(group.name for group in groups.series().groups if group.gated)
    tools = {str(path.relative_to(ROOT)): path for path in repo_files(ROOT)
             if not path.name.startswith("test_") and path.suffix not in (".txt", ".config")}
    assert not [f"{name}: {match}" for name, path in tools.items()
                if name.startswith(TOOLS)
                for match in re.findall(
                    (r"(?m)^[^#\n]*(?<![\w.-])" if path.suffix in (".sh", "") else r"[\"'/=]")
                    + rf"(?:{names})(?![\w.:-])",
                    path.read_text(errors="replace").partition("\ndef test_")[0])]
