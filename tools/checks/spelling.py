# SPDX-License-Identifier: GPL-2.0
"""codespell knows a better word for one of a changelog or an added line."""

import re
import shutil
import tempfile
from pathlib import Path

import pytest

from tools.checks.findings import no_finding
from tools.command import last_lines, run
from tools.series import Series

pytestmark = pytest.mark.skipif(not shutil.which("codespell"), reason="codespell is not installed")


def check(series: Series) -> list[str]:
    """codespell knows no better for the messages and the added lines."""
    with tempfile.TemporaryDirectory() as directory:
        for patch in series.patches:
            added = [line for diff in patch.files for line in diff.added]
            (text := Path(directory) / patch.name).parent.mkdir(exist_ok=True)
            text.write_text("\n".join([patch.message, *added]) + "\n")
        done = run(["codespell", "-d", "."], Path(directory))
    lines = [line.removeprefix("./") for line in done.stdout.splitlines() if "==>" in line]
    if done.returncode and not lines:
        return [f"codespell: {last_lines(done.stdout)}"]
    return [re.sub(r":\d+: ", ": ", line) for line in lines]


test_spelling = no_finding(check)
