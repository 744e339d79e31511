# SPDX-License-Identifier: GPL-2.0
"""boot.py is able to fail: real boots in which one thing is wrong each.

Needs the plain kernel with CONFIG_LKDTM and CONFIG_KUNIT.
A boot takes some ten seconds under TCG.
"""
from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import environment
from tools.vm.apart import RESULTS, boot_apart, start

KERNEL = environment.kernel()
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


def console(name: str) -> Path:
    return RESULTS / f"vm-{name}" / "console.log"


def result(name: str, status: int, printed: str) -> Run:
    """Return what a boot that has ended gave."""
    tests = {test["id"]: test
             for test in json.loads((RESULTS / f"parts/vm-{name}.json").read_text())}
    failures = [line for line in printed.splitlines() if line.startswith("FAIL ")]
    return Run(status, failures, tests[f"vm/boot_{name}"]["reason"], tests,
               console(name).read_text(errors="replace"))


def boot(name: str, job: str, *jobs: str, limit: int = 300) -> Run:
    """Boot with these jobs."""
    status, printed, _ = boot_apart(name, KERNEL, job, f"--time-limit={limit}",
                                    *(f"--{more}" for more in jobs))
    return result(name, status, printed)


def fails(name: str, *jobs: str, limit: int = 300) -> Run:
    """Boot with these jobs, which must fail for one reason."""
    run = boot(name, *jobs, limit=limit)
    assert run.status == 1 and len(run.failures) == 1, run.failures
    return run


def started(name: str) -> subprocess.Popen[str]:
    """Start a boot that does not end; return when its kernel has spoken."""
    console(name).unlink(missing_ok=True)
    process = start(name, KERNEL, "--cmd=sleep 1000:demo")
    end = time.monotonic() + 60
    while time.monotonic() < end and not (
            console(name).exists() and b"Linux version" in console(name).read_bytes()):
        time.sleep(0.5)
    assert process.poll() is None and qemus_of(console(name).parent)
    return process


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


def test_runner_good() -> None:
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


def test_runner_planted_warn() -> None:
    """The job itself passes; only the kernel log shows it."""
    run = fails("runner-warn", f"{HEAD} 1..1 'ok 1 works'; "
                "echo WARNING > /sys/kernel/debug/provoke-crash/DIRECT:demo")
    assert "lkdtm: Performing direct entry WARNING" in run.console, (
        "LKDTM did not run: the kernel needs CONFIG_LKDTM")
    assert re.match(r"splat: WARNING: \S*drivers/misc/lkdtm/bugs\.c:", run.reason)


def test_runner_missing_end_marker() -> None:
    """A complete job, then the guest is off before the end mark."""
    run = fails("runner-noend", GOOD, f"{HEAD} 1..1 'ok 1 x'; "
                "echo o > /proc/sysrq-trigger; sleep 100:off")
    assert run.reason.startswith("no end mark: the guest ended while cmd=")
    assert run.tests["demo/works"]["status"] == "pass"


def test_runner_all_skipped() -> None:
    """A job that tests nothing does not pass because it says why."""
    run = fails("runner-skips", f"{HEAD} 1..2 'ok 1 a # SKIP no such device' "
                "'ok 2 b # SKIP neither':demo")
    assert run.reason.endswith("all of it was skipped: no such device")
    assert run.tests["demo/b"]["status"] == "skip"


def test_runner_failing_subtest() -> None:
    """The boot passes, the subtest fails with its diagnostics."""
    run = fails("runner-fail", f"{HEAD} 1..2 'ok 1 a' '# 1 is not 2' 'not ok 2 b':demo")
    assert run.failures == ["FAIL demo/b: 1 is not 2"]
    assert run.tests["vm/boot_runner-fail"]["status"] == "pass"


def test_runner_time_limit() -> None:
    run = fails("runner-limit", "cmd=sleep 1000:demo", limit=15)
    assert re.fullmatch("time limit of 15 s reached .*, QEMU killed", run.reason)
    assert "Linux version" in run.console
    assert qemus_of(console("runner-limit").parent) == []


def test_runner_interrupt() -> None:
    process = started("runner-int")
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate()
    run = result("runner-int", process.returncode, printed)
    assert run.status == 130
    assert run.failures == ["FAIL vm/boot_runner-int: interrupted, QEMU killed"]
    assert "Linux version" in run.console
    assert qemus_of(console("runner-int").parent) == []


def test_runner_killed() -> None:
    """No virtual machine is left, and no result counts."""
    process = started("runner-kill")
    process.kill()
    process.wait()
    end = time.monotonic() + 10
    while qemus_of(console("runner-kill").parent) and time.monotonic() < end:
        time.sleep(0.2)
    assert qemus_of(console("runner-kill").parent) == []
    assert not (RESULTS / "parts/vm-runner-kill.json").exists()
