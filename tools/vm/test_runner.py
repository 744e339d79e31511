# SPDX-License-Identifier: GPL-2.0
"""A boot is able to fail: real boots in which one thing is wrong each.

Needs the plain kernel with CONFIG_LKDTM and CONFIG_KUNIT.
A boot takes some ten seconds under TCG.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tools import environment
from tools.environment import ROOT
from tools.results import Result
from tools.vm.single import RESULTS, boot_single
from tools.vm.boot import failures
from tools.vm.tables import KUNIT, Job

KERNEL = environment.kernel()
HEAD = "printf '%s\\n' 'TAP version 13'"
GOOD = Job("cmd", f"{HEAD} 1..1 'ok 1 works'", "demo")
# Boots.py with a boot of no table
STARTED = """
import sys
from tools.group_toml import BootTable
from tools.vm.boots import Runner
from tools.vm.tables import Boot, Job
job = Job("cmd", "sleep 1000", "demo")
sys.exit(Runner().all([Boot(sys.argv[1], (job,), BootTable(kernel="vm"))]))
"""


def cmd(what: str, part: str = "demo") -> Job:
    """Return the job of a command."""
    return Job("cmd", what, part)


def console(name: str) -> Path:
    return RESULTS / f"vm-{name}" / "console.log"


def said(name: str) -> str:
    """Return what the kernel of a boot said."""
    return console(name).read_text(errors="replace")


def boot(name: str, *jobs: Job, **row: Any) -> dict[str, Result]:
    """Boot with these jobs; return the results by id."""
    results, _ = boot_single(name, KERNEL, *jobs, **{"time_limit": 300} | row)
    return {result.id: result for result in results}


def fails(name: str, *jobs: Job, **row: Any) -> tuple[dict[str, Result], str]:
    """Boot with these jobs, which must fail for one reason; return the results and that of the
    boot itself."""
    found = boot(name, *jobs, **row)
    assert len(failures([*found.values()])) == 1, found
    return found, found[f"vm/boot_{name}"].reason


def started(name: str) -> subprocess.Popen[str]:
    """Start a boot that does not end; return when its kernel has spoken."""
    console(name).unlink(missing_ok=True)
    (RESULTS / f"parts/vm-{name}.json").unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", STARTED, name], cwd=ROOT, text=True, stdin=subprocess.DEVNULL,
        env={**os.environ, "KVM": "0", "RESULTS": str(RESULTS)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
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
    skips = cmd(f"{HEAD} 1..2 'ok 1 a' 'ok 2 b # SKIP no such device'", "skips")
    found = boot("runner-good", KUNIT, GOOD, skips)
    assert not failures([*found.values()])
    for name in ("vm/boot_runner-good", "demo/works"):
        assert found[name].status == "pass", name
    assert found["skips/b"] == Result("skips/b", "skip", "no such device")
    assert any(name.startswith("kunit/") for name in found)
    # Late messages are in the log, too.
    assert "reboot: Power down" in said("runner-good")


def test_runner_planted_warn() -> None:
    """The job itself passes; only the kernel log shows it."""
    _, reason = fails("runner-warn", cmd(
        f"{HEAD} 1..1 'ok 1 works'; echo WARNING > /sys/kernel/debug/provoke-crash/DIRECT"))
    assert "lkdtm: Performing direct entry WARNING" in said("runner-warn"), (
        "LKDTM did not run: the kernel needs CONFIG_LKDTM")
    assert re.match(r"splat: WARNING: \S*drivers/misc/lkdtm/bugs\.c:", reason)


def test_runner_missing_end_marker() -> None:
    """A complete job, then the guest is off before the end mark."""
    found, reason = fails("runner-noend", GOOD, cmd(
        f"{HEAD} 1..1 'ok 1 x'; echo o > /proc/sysrq-trigger; sleep 100", "off"))
    assert reason.startswith("no end mark: the guest ended while cmd=")
    assert found["demo/works"].status == "pass"


def test_runner_all_skipped() -> None:
    """A job that tests nothing does not pass because it says why."""
    found, reason = fails("runner-skips", cmd(
        f"{HEAD} 1..2 'ok 1 a # SKIP no such device' 'ok 2 b # SKIP neither'"))
    assert reason.endswith("all of it was skipped: no such device")
    assert found["demo/b"].status == "skip"


def test_runner_failing_subtest() -> None:
    """The boot passes, the subtest fails with its diagnostics."""
    found, reason = fails("runner-fail", cmd(
        f"{HEAD} 1..2 'ok 1 a' '# 1 is not 2' 'not ok 2 b'"))
    assert found["demo/b"] == Result("demo/b", "fail", "1 is not 2") and not reason


def test_runner_time_limit() -> None:
    _, reason = fails("runner-limit", cmd("sleep 1000"), time_limit=15)
    assert re.fullmatch("time limit of 15 s reached .*, QEMU killed", reason)
    assert "Linux version" in said("runner-limit")
    assert qemus_of(console("runner-limit").parent) == []


def test_runner_interrupt() -> None:
    process = started("runner-int")
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate()
    assert process.returncode == 130
    assert "FAIL vm/boot_runner-int: interrupted, QEMU killed\n" in printed
    rows = json.loads((RESULTS / "parts/vm-runner-int.json").read_text())
    assert [row["id"] for row in rows if row["status"] == "fail"] == ["vm/boot_runner-int"]
    assert "Linux version" in said("runner-int")
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
