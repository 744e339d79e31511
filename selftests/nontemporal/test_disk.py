# SPDX-License-Identifier: GPL-2.0
"""disk.py says in a line what it cannot do; that it runs is tested in a virtual machine (storm.sh)."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from selftests.nontemporal import disk

pytestmark = pytest.mark.static


def refused(*words: str | Path) -> tuple[int, str]:
    """Return the exit status of disk.py and the last line that it prints as an error."""
    done = subprocess.run([sys.executable, disk.__file__, *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert not done.stdout
    return done.returncode, done.stderr.splitlines()[-1]


@pytest.mark.skipif(disk.SYSCTL.exists(), reason="this kernel has the sysctl")
def test_disk_refuses(tmp_path: Path) -> None:
    """No directory, no words, and a kernel without the sysctl."""
    assert refused() == (2, "disk.py: error: the following arguments are required: directory")
    assert refused(tmp_path / "no") == (2, f"disk.py: error: {tmp_path / 'no'} is no directory")
    code, said = refused(tmp_path)
    assert code == 1 and str(disk.SYSCTL) in said
    assert not list(tmp_path.iterdir())
