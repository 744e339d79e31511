# SPDX-License-Identifier: GPL-2.0
"""Immediate values on more CPUs than other boots have: 4, which read while values are set."""

import os
import re
from pathlib import Path

import pytest

from tools.vm.apart import boot_apart

BOOT_SECONDS = 300  # 4e7 to 1.6e8 reads


def stress() -> str:
    """Boot the plain kernel with the kselftest's test under load, which has to pass; return its
    output."""
    kernel = Path(os.environ["CF_OUT"])
    code, printed, logs = boot_apart(
        "immediate-4", kernel, f"cmd={kernel}/kselftest/immediate/test_stress.sh:immediate",
        "--cpus=4", "--time-limit=900", "--append=kunit.filter_glob=none",
        f"--env=MODPROBE_OPTIONS=-d {kernel}/modules", f"--env=STRESS_SECONDS={BOOT_SECONDS}")
    assert code == 0, printed
    return (logs / "jobs.log").read_text(errors="replace")


def expect_none_torn(reads: int, most_boots: int) -> None:
    """Boot until so many reads were checked: under sets, module load, probes, tracing and hotplug
    none is torn, or of a value from outside its window."""
    counted = 0
    for _ in range(most_boots):
        results = re.findall(r"^# reads=(\d+) .* torn=(\d+) outside=(\d+) ", stress(), re.M)
        more, torn, outside = map(int, results[0])
        assert torn == outside == 0, results
        counted += more
        if counted >= reads:
            return
    assert counted >= reads


@pytest.mark.late
def test_torn_zero() -> None:
    """One boot is enough for 1e8 reads on an idle machine of 2023."""
    expect_none_torn(100_000_000, 5)


@pytest.mark.full
def test_torn_zero_long() -> None:
    """1e9 reads take about an hour there."""
    expect_none_torn(1_000_000_000, 30)
