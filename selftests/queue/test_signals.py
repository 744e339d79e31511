# SPDX-License-Identifier: GPL-2.0
"""Builds and boots that are interrupted: the next one goes on, and nothing is left behind.

On the kernel of this run, which nothing else may use meanwhile; test_robust.py has the same for
tree.py, on trees of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from selftests.queue.test_robust import BUILD, ROOT, interrupted, passes, script
from selftests.vm.test_runner import qemus_of

pytestmark = pytest.mark.signals

FOLDERS = ("fs", "mm")
TAP = "cmd=printf '%s\\n' 'TAP version 13' 1..1 'ok 1 works':demo"


def test_robust_signal_build() -> None:
    """Some objects go, the build is interrupted; in the end the image is the same."""
    out = BUILD / "out/vm"
    image = out / "arch/x86/boot/bzImage"
    variables = {"BUILD": BUILD, "CF_TREE": os.environ.get("CF_TREE", BUILD / "linux")}
    assert image.exists(), "no kernel: run make kernel"
    before = image.read_bytes()

    def build() -> subprocess.Popen:
        return script("kernel.sh vm", BUILD.parent, **variables)

    def start() -> subprocess.Popen:
        for path in (path for folder in FOLDERS for path in (out / folder).glob("*.o")):
            path.unlink()
        return build()

    codes = []
    for how, code, text in interrupted(start):
        assert code == 0 or code == (-how if how == signal.SIGKILL else 130), f"{code}: {text}"
        assert code != 130 or "run it again to continue" in text, text
        assert code == 0 or not (out / ".series").exists(), "half a build counts as a whole one"
        codes.append(code)
    assert any(codes), "no build was interrupted"
    passes(build())
    assert image.read_bytes() == before, "the image differs from that of an uninterrupted build"
    passes(build())
    lines = (out / "build.log").read_text().splitlines()
    compiled = [line for line in lines if line.startswith("  CC")]
    assert not compiled, f"a build with nothing to do compiled {len(compiled)} files"


def test_robust_signal_boot(tmp_path: Path) -> None:
    """No virtual machine is left, no interrupted boot counts as passed, and the next one passes."""
    command = [sys.executable, "-m", "selftests.vm.boot", "--kernel", str(BUILD / "out/vm"),
               "--tree", os.environ["CF_TREE"], "--results", str(tmp_path), "--name", "cut",
               "--job", TAP]
    part = tmp_path / "parts/vm-cut.json"

    def start() -> subprocess.Popen:
        part.unlink(missing_ok=True)
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                start_new_session=True)

    def passed() -> bool:
        rows = json.loads(part.read_text()) if part.exists() else []
        return bool(rows) and all(row["status"] == "pass" for row in rows)

    codes = []
    for how, code, text in interrupted(start):
        assert code in (0, 130, -how), f"signal {how}: {code}: {text}"
        assert passed() == (code == 0), f"signal {how}: {code}"
        deadline = time.monotonic() + 10
        while qemus_of(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert qemus_of(tmp_path) == [], f"signal {how}"
        codes.append(code)
    assert any(codes), "no boot was interrupted"
    passes(start())
    assert passed()
