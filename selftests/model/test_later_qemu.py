# SPDX-License-Identifier: GPL-2.0
"""The plugin under a QEMU with the later interface, from Debian's backports."""
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from selftests.model import expected
from selftests.model.emulator import plugin_api
from selftests.model.expected import compare
from selftests.model.published import model


def test_later_qemu(run_options: list[str]) -> None:
    """The calibration counts the same under it, by arithmetic."""
    script = Path(os.environ["CF_ROOT"]) / "scripts/later-qemu.sh"
    done = subprocess.run([str(script)], capture_output=True, text=True, check=False)
    if done.returncode == 3:
        pytest.skip(": ".join([done.stdout.strip(), *done.stderr.strip().split("\n")[-1:]]))
    assert done.returncode == 0, done.stderr.strip()
    program, _, options = done.stdout.strip().partition(" ")
    run = model(["run", "calibrate", "--name", "later", "--qemu", program,
                 "--qemu-options", options, *run_options])
    assert run.returncode == 0, run.stderr.strip()
    result = json.loads((Path(run_options[-1]) / "later.json").read_text())
    assert plugin_api(result["qemu"]) == 3
    compare(result, expected.expected(result["geometry"]))
