# SPDX-License-Identifier: GPL-2.0
"""boot.py is able to fail: real boots in which one thing is wrong each.

Needs CF_KERNEL with CONFIG_LKDTM and CONFIG_KUNIT, CF_TREE and CF_RESULTS.
A boot takes some ten seconds under TCG.
"""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAD = "cmd=printf '%s\\n' 'TAP version 13'"
GOOD = f"{HEAD} 1..1 'ok 1 works':demo"


@dataclass
class Run:
    """What one run of boot.py gave. reason: why the boot itself failed; failures: lines printed."""

    status: int
    failures: list[str]
    reason: str
    tests: dict[str, dict[str, Any]]
    console: str
    seconds: float


class Boot:
    """Runs boot.py by its command line, as the Makefile does."""

    def __init__(self, kernel: Path, tree: Path) -> None:
        # Apart from the results of the run: these boots are meant to fail.
        self.results = Path(os.environ["CF_RESULTS"]).resolve() / "runner"
        self.command = [sys.executable, "-m", "selftests.vm.boot", f"--kernel={kernel}",
                        f"--tree={tree}", f"--results={self.results}"]

    def start(self, name: str, *options: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.command, "--name", name, *options], cwd=ROOT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "KVM": "0", **environment})

    def started(self, name: str) -> subprocess.Popen[str]:
        """Start a boot that does not end; return when its kernel has spoken."""
        self.console(name).unlink(missing_ok=True)
        process = self.start(name, "--job=cmd=sleep 1000:demo", "--time-limit=300")
        end = time.monotonic() + 60
        while time.monotonic() < end and not (
                self.console(name).exists() and b"Linux version" in self.console(name).read_bytes()):
            time.sleep(0.5)
        assert process.poll() is None
        return process

    def finish(self, process: subprocess.Popen[str], name: str) -> Run:
        start = time.monotonic()
        printed, _ = process.communicate()
        seconds = time.monotonic() - start
        part = self.results / "parts" / f"vm-{name}.json"
        tests = {test["id"]: test for test in json.loads(part.read_text())}
        failures = [line for line in printed.splitlines() if line.startswith("FAIL ")]
        console = self.console(name).read_text(errors="replace")
        reason = tests[f"vm/boot_{name}"]["reason"]
        return Run(process.returncode, failures, reason, tests, console, seconds)

    def console(self, name: str) -> Path:
        return self.results / f"vm-{name}" / "console.log"

    def __call__(self, name: str, *jobs: str, limit: int = 300) -> Run:
        options = [f"--time-limit={limit}", *(f"--job={job}" for job in jobs)]
        return self.finish(self.start(name, *options), name)

    def fails(self, name: str, *jobs: str, limit: int = 300) -> Run:
        """Run boot.py, which must fail for one reason."""
        run = self(name, *jobs, limit=limit)
        assert run.status == 1 and len(run.failures) == 1, run.failures
        return run


@pytest.fixture
def boot(kernel: Path, tree: Path) -> Boot:
    return Boot(kernel, tree)


def qemus_of(directory: Path) -> list[str]:
    """Return the processes whose command line names a directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(directory) in words and "qemu-system" in words:
            found.append(words.replace("\0", " "))
    return found


def test_runner_good(boot: Boot) -> None:
    run = boot("runner-good", "kunit", GOOD,
               f"{HEAD} 1..2 'ok 1 a' 'ok 2 b # SKIP no such device':skips")
    assert run.failures == [] and run.status == 0
    for name in ("vm/boot_runner-good", "demo/works"):
        assert run.tests[name]["status"] == "pass", name
    assert run.tests["skips/b"] == {
        "id": "skips/b", "status": "skip", "reason": "no such device", "seconds": 0.0}
    assert any(name.startswith("kunit/") for name in run.tests)
    # Late messages are in the log, too.
    assert "reboot: Power down" in run.console


def test_runner_planted_warn(boot: Boot) -> None:
    """The job itself passes; only the kernel log shows it."""
    run = boot.fails("runner-warn", f"{HEAD} 1..1 'ok 1 works'; "
                     "echo WARNING > /sys/kernel/debug/provoke-crash/DIRECT:demo")
    assert "lkdtm: Performing direct entry WARNING" in run.console, (
        "LKDTM did not run: CF_KERNEL needs CONFIG_LKDTM")
    assert re.match(r"splat: WARNING: \S*drivers/misc/lkdtm/bugs\.c:", run.reason)


def test_runner_missing_end_marker(boot: Boot) -> None:
    """A complete job, then the guest is off before the end mark."""
    run = boot.fails("runner-noend", GOOD, f"{HEAD} 1..1 'ok 1 x'; "
                     "echo o > /proc/sysrq-trigger; sleep 100:off")
    assert run.reason.startswith("no end mark: the guest ended while cmd=")
    assert run.tests["demo/works"]["status"] == "pass"


def test_runner_all_skipped(boot: Boot) -> None:
    """A job that tests nothing does not pass because it says why."""
    run = boot.fails("runner-skips", f"{HEAD} 1..2 'ok 1 a # SKIP no such device' "
                     "'ok 2 b # SKIP neither':demo")
    assert run.reason.endswith("all of it was skipped: no such device")
    assert run.tests["demo/b"]["status"] == "skip"


def test_runner_failing_subtest(boot: Boot) -> None:
    """The boot passes, the subtest fails with its diagnostics."""
    run = boot.fails("runner-fail", f"{HEAD} 1..2 'ok 1 a' '# 1 is not 2' 'not ok 2 b':demo")
    assert run.failures == ["FAIL demo/b: 1 is not 2"]
    assert run.tests["vm/boot_runner-fail"]["status"] == "pass"


def test_runner_time_limit(boot: Boot) -> None:
    run = boot.fails("runner-limit", "cmd=sleep 1000:demo", limit=15)
    assert re.fullmatch("time limit of 15 s reached .*, QEMU killed", run.reason)
    assert run.seconds < 30
    assert "Linux version" in run.console
    assert qemus_of(boot.console("runner-limit").parent) == []


def test_runner_interrupt(boot: Boot) -> None:
    process = boot.started("runner-int")
    process.send_signal(signal.SIGINT)
    run = boot.finish(process, "runner-int")
    assert run.status == 130
    assert run.failures == ["FAIL vm/boot_runner-int: interrupted, QEMU killed"]
    assert "Linux version" in run.console
    assert qemus_of(boot.console("runner-int").parent) == []


def test_runner_killed(boot: Boot) -> None:
    """No virtual machine is left, and no result counts."""
    process = boot.started("runner-kill")
    process.kill()
    process.wait()
    end = time.monotonic() + 10
    while qemus_of(boot.console("runner-kill").parent) and time.monotonic() < end:
        time.sleep(0.2)
    assert qemus_of(boot.console("runner-kill").parent) == []
    assert not (boot.results / "parts/vm-runner-kill.json").exists()
