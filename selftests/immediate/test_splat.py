# SPDX-License-Identifier: GPL-2.0
"""The debug kernel reports a set where one may not sleep: a boot that has to fail for that reason.

Needs build/out/debug with CONFIG_DEBUG_ATOMIC_SLEEP and the module test_imv_base.
"""


import pytest

from tools import environment
from tools.vm.single import boot_single
from tools.vm.boot import failures
from tools.vm.tables import Job

JOB = Job("cmd", "printf '%s\\n' 'TAP version 13' 1..1; modprobe test_imv_base && "
          "echo 1 > /sys/module/test_imv_base/parameters/set_atomic && echo ok 1 set", "demo")
SPLAT = "BUG: sleeping function called from invalid context"


@pytest.mark.debug
def test_set_atomic_splat() -> None:
    """The set goes through, and might_sleep() below imv_set() has reported it."""
    kernel = environment.kernel("debug")
    if not (kernel / ".series").exists():
        pytest.fail(f"no kernel in {kernel}: run tools/kernel.sh debug")
    results, logs = boot_single("immediate-splat", kernel, JOB, time_limit=200)
    assert failures(results)[0].startswith(f"FAIL vm/boot_immediate-splat: splat: {SPLAT}")
    console = (logs / "console.log").read_text(errors="replace")
    trace = console.partition(SPLAT)[2].partition("</TASK>")[0]
    assert "imv_set_var" in trace and "set_atomic" in trace, trace
    assert "ok 1 set" in (logs / "jobs.log").read_text(), "the guest did not go on"
