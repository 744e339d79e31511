# SPDX-License-Identifier: GPL-2.0
"""A set where one may not sleep is told by the debug kernel: a boot that has to fail, for that reason.

Needs build/out/debug with CONFIG_DEBUG_ATOMIC_SLEEP and the module test_imv_base.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JOB = ("printf '%s\\n' 'TAP version 13' 1..1; modprobe test_imv_base && "
       "echo 1 > /sys/module/test_imv_base/parameters/set_atomic && echo ok 1 set")
SPLAT = "BUG: sleeping function called from invalid context"


def test_set_atomic_splat() -> None:
    """The set goes through, and might_sleep() in imv_set() has said what is wrong with it."""
    kernel = Path(os.environ["CF_OUT"]).parent / "debug"
    if not (kernel / ".series").exists():
        pytest.fail(f"no kernel in {kernel}: run scripts/kernel.sh debug")
    # Apart from the results of the run: this boot is meant to fail.
    results = Path(os.environ["CF_RESULTS"]) / "runner"
    done = subprocess.run(
        [sys.executable, "-m", "selftests.vm.boot", "--kernel", kernel, "--tree", os.environ["CF_TREE"],
         "--results", results, "--name", "immediate-splat", "--time-limit", "200", "--job", f"cmd={JOB}:demo",
         "--env", f"MODPROBE_OPTIONS=-d {kernel}/modules"],
        cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"FAIL vm/boot_immediate-splat: splat: {SPLAT}" in done.stdout, done.stdout
    console = (results / "vm-immediate-splat/console.log").read_text(errors="replace")
    trace = console.partition(SPLAT)[2].partition("</TASK>")[0]
    assert "imv_set_var" in trace and "set_atomic" in trace, trace
    assert "ok 1 set" in (results / "vm-immediate-splat/jobs.log").read_text(), "the guest did not go on"
