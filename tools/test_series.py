# SPDX-License-Identifier: GPL-2.0
"""The parser of the series."""

from pathlib import Path

import pytest

from tools.tree.small_series import Builder

pytestmark = pytest.mark.static


def test_parser(tmp_path: Path) -> None:
    """Files and lines of a diff, its headers; a hunk that is cut short is refused."""
    subject, builder = "lib/a: Start at one", Builder(tmp_path)
    series = builder.edit(subject, {"lib/a.c": "one\n", "lib/b.c": "x\n--- y\n"}).write()
    (patch,) = series.patches
    assert [diff.path for diff in patch.files] == ["lib/a.c", "lib/b.c"]
    assert patch.files[1].added == ["x", "--- y"]
    assert patch.header("From").startswith("Ann")
    with pytest.raises(ValueError, match="cut short"):
        builder.alter(subject, "+x\n+--- y\n", "+x\n")
