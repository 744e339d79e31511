# SPDX-License-Identifier: GPL-2.0
"""Immediate values on more CPUs than other boots have: 4, which read while values are set."""

import re

import pytest

from tools import environment
from tools.vm.single import boot_single
from tools.vm.boot import failures
from tools.vm.tables import Job

SECONDS = 300   # of a boot: 1e8 reads and more on an idle machine of 2023


def expect_none_torn(reads: int, most_boots: int) -> None:
    """Boot until so many reads were checked: under sets, module load, probes, tracing and hotplug
    none is torn, or of a value from outside its window."""
    kernel, counted = environment.kernel(), 0
    for _ in range(most_boots):
        job = Job("cmd", f"{kernel}/kselftest/immediate/test_stress.sh", "immediate")
        results, logs = boot_single(
            "immediate-4", kernel, job, cpus=4, time_limit=900, append="kunit.filter_glob=none",
            env=(f"STRESS_SECONDS={SECONDS}",))
        assert not failures(results)
        log = (logs / "jobs.log").read_text(errors="replace")
        counts = re.findall(r"^# reads=(\d+) .* torn=(\d+) outside=(\d+) ", log, re.M)
        more, torn, outside = map(int, counts[0])
        assert torn == outside == 0, counts
        counted += more
        if counted >= reads:
            return
    assert counted >= reads


@pytest.mark.late
def test_torn_zero() -> None:
    """A slow machine takes several boots for 100 million reads."""
    expect_none_torn(100_000_000, 5)


@pytest.mark.full
def test_torn_zero_long() -> None:
    """A billion reads take five to ten boots."""
    expect_none_torn(1_000_000_000, 30)
