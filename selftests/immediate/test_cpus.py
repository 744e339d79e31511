# SPDX-License-Identifier: GPL-2.0
"""Immediate values on more CPUs than other boots have: 4, which read while values are set."""

import os
import re
from pathlib import Path

import pytest

from tools.vm.apart import boot_apart

READS = 100_000_000
MOST_BOOTS = 5      # of 300 s: one is enough on an idle machine of 2023


@pytest.mark.late
def test_torn_zero() -> None:
    """No read of 100 million is torn, or of a value from outside its window, under sets, module
    load, probes, tracing and hotplug; a slow machine takes several boots for them."""
    kernel, counted = Path(os.environ["CF_OUT"]), 0
    for _ in range(MOST_BOOTS):
        code, printed, logs = boot_apart(
            "immediate-4", kernel, f"cmd={kernel}/kselftest/immediate/test_stress.sh:immediate",
            "--cpus=4", "--time-limit=900", "--append=kunit.filter_glob=none",
            f"--env=MODPROBE_OPTIONS=-d {kernel}/modules", "--env=STRESS_SECONDS=300")
        assert code == 0, printed
        log = (logs / "jobs.log").read_text(errors="replace")
        results = re.findall(r"^# reads=(\d+) .* torn=(\d+) outside=(\d+) ", log, re.M)
        reads, torn, outside = map(int, results[0])
        assert torn == outside == 0, results
        counted += reads
        if counted >= READS:
            return
    assert counted >= READS
