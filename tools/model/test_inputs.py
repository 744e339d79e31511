# SPDX-License-Identifier: GPL-2.0
"""Bad input: one clear line, a non-zero exit, nothing left running."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.model.published import model
from tools.figures.store import ROOT
from tools.vm.test_runner import qemus_of


@pytest.mark.parametrize("arguments, words", [
    # By the command line, before anything is built
    ("circle --build", "invalid choice: 'circle'"),
    ("ring --set taks=4", "known are kind=pipe tasks=64"),
    ("ring --set tasks=4;init=/bin/sh", "not a value"),
    ("ring --build --kernel /nowhere", "no kernel in /nowhere"),
    ("ring --range no_such_function", "no function no_such_function in System.map"),
    # By the plugin, before anything is booted
    ("ring --geometry l1d=32K:0", "cachemodel: bad argument l1d=32K:0"),
    ("ring --geometry l1d=48K:8", "not a power of two"),
    # By the guest
    ("ring --set tasks=1", "tasks=1: a whole number of 2..4096 is wanted"),
])
def test_refused(run_options: list[str], arguments: str, words: str) -> None:
    """Wrong input ends the run with one line that says what is wrong."""
    done = model([*arguments.split(), *run_options])
    assert done.returncode in (1, 2), done.stdout
    assert done.stderr.count("\n") == 1 and words in done.stderr, done.stderr


@pytest.mark.usefixtures("built")
def test_time_limit(tmp_path: Path) -> None:
    """A guest that does not end is killed."""
    done = model(["ring", "--time-limit", "1", "--results", str(tmp_path)])
    assert done.returncode == 1 and "not done after 1 s, killed" in done.stderr
    assert not qemus_of(tmp_path)


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path: Path, number: int) -> None:
    """A signal ends the run and QEMU; no result is left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.model", "ring", "--results", str(tmp_path)],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    deadline = time.monotonic() + 60
    while not qemus_of(tmp_path):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(process.pid, number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.strip() == "model: interrupted"
    assert not qemus_of(tmp_path)
    assert not (tmp_path / "ring.json").exists()
