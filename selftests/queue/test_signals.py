# SPDX-License-Identifier: GPL-2.0
"""Builds and boots that are interrupted at moments spread over the run: the next one goes on, and nothing is left behind.

Works on the kernel of this run. test_robust.py has the same for the moves of a tree.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from selftests.queue.test_robust import BUILD, MOMENTS, ROOT, must_pass, run, script
from selftests.vm.test_runner import qemus_of

pytestmark = pytest.mark.robust

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
FOLDERS = ("fs", "mm")


def interrupted(start: Callable[[], subprocess.Popen], seconds: float) -> Iterator[tuple[int, int, str]]:
    """Start a program and send each signal at each moment of a run of `seconds`, to its whole process group.

    Yields the signal, the exit code and standard error; a run that ends before its moment has the code 0.
    """
    for how in SIGNALS:
        for moment in range(MOMENTS):
            process = start()
            try:
                process.wait(seconds * (moment + 0.5) / MOMENTS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, how)
            _, err = process.communicate(timeout=120)
            yield how, process.returncode, err


def test_robust_signal_build() -> None:
    """Some objects go, the build is interrupted; the last one makes the same image, and the one after it compiles nothing."""
    out = BUILD / "out/vm"
    image = out / "arch/x86/boot/bzImage"
    variables = {"BUILD": BUILD, "CF_TREE": os.environ.get("CF_TREE", BUILD / "linux")}
    assert image.exists(), "no kernel: run make kernel"
    before = image.read_bytes()

    def start() -> subprocess.Popen:
        for path in (path for folder in FOLDERS for path in (out / folder).glob("*.o")):
            path.unlink()
        return script("kernel.sh", BUILD.parent, "vm", **variables)

    began = time.monotonic()
    _, err = start().communicate(timeout=900)
    codes = []
    for how, code, err in interrupted(start, time.monotonic() - began):
        assert code == 0 or code == (-how if how == signal.SIGKILL else 130), f"{code}: {err}"
        assert code != 130 or "run it again to continue" in err, err
        assert code == 0 or not (out / ".series").exists(), "a build that is not whole counts as one"
        codes.append(code)
    assert any(codes), "no build was interrupted"
    must_pass(run("kernel.sh", BUILD.parent, "vm", **variables))
    assert image.read_bytes() == before, "the image differs from the one of an uninterrupted build"
    must_pass(run("kernel.sh", BUILD.parent, "vm", **variables))
    compiled = [line for line in (out / "build.log").read_text().splitlines() if line.startswith("  CC")]
    assert not compiled, f"a build with nothing to do compiled {len(compiled)} files"


def test_robust_signal_boot(tmp_path: Path) -> None:
    """No virtual machine goes on without its boot, no cut-off boot counts as passed, and the next one passes."""
    command = [sys.executable, "-m", "selftests.vm.boot", "--kernel", str(BUILD / "out/vm"),
               "--tree", os.environ["CF_TREE"], "--results", str(tmp_path), "--name", "cut", "--job",
               "cmd=printf '%s\\n' 'TAP version 13' 1..1 'ok 1 works':demo"]
    part = tmp_path / "parts/vm-cut.json"

    def start() -> subprocess.Popen:
        part.unlink(missing_ok=True)
        return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def passed() -> bool:
        rows = json.loads(part.read_text()) if part.exists() else []
        return bool(rows) and all(row["status"] == "pass" for row in rows)

    began = time.monotonic()
    assert start().wait(300) == 0 and passed()
    codes = []
    for how, code, err in interrupted(start, time.monotonic() - began):
        assert code in (0, 130, -how), f"{how.name}: {code}: {err}"
        assert passed() == (code == 0), f"{how.name}: {code}"
        deadline = time.monotonic() + 10
        while qemus_of(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert qemus_of(tmp_path) == [], how.name
        codes.append(code)
    assert any(codes), "no boot was interrupted"
    assert start().wait(300) == 0 and passed()
