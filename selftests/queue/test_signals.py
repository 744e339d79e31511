# SPDX-License-Identifier: GPL-2.0
"""Builds that are interrupted: the next one goes on.

On the kernel of this run, which nothing else may use meanwhile; vm/runner_interrupt is about a
boot, test_robust.py about the scripts that work on small trees.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from selftests.queue.test_robust import BUILD, passes, script

pytestmark = pytest.mark.signals

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
MOMENTS = 3
FOLDERS = ("fs", "mm")


def interrupted(start: Callable[[], subprocess.Popen]) -> Iterator[tuple[int, int, str]]:
    """Start a program and send each signal at moments of its run, to its whole process group.

    Yields signal, exit code and output: of a whole run, which must pass, and of each interrupted
    one. A run that ends before its moment has the code 0.
    """
    began = time.monotonic()
    out = passes(start())
    seconds = time.monotonic() - began
    yield 0, 0, out
    for how in SIGNALS:
        for moment in range(MOMENTS):
            process = start()
            try:
                process.wait(seconds * (moment + 0.5) / MOMENTS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, how)
            out, _ = process.communicate(timeout=120)
            yield how, process.returncode, out


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
