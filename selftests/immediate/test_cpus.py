# SPDX-License-Identifier: GPL-2.0
"""Immediate values with more CPUs than other boots have: 18, with which CPU hotplug sets
percpu_counter_batch, and 4 that read while values are set."""

import os
import re
from pathlib import Path

import pytest

from tools.vm.apart import boot_apart

READS = 100_000_000
MOST_BOOTS = 5      # of 300 s: one is enough on an idle machine of 2023


def kselftest(program: str, cpus: int, *environment: str) -> str:
    """Boot the plain kernel with a program of the kselftest immediate, which has to pass; return
    its output."""
    kernel = Path(os.environ["CF_OUT"])
    code, printed, logs = boot_apart(
        f"immediate-{cpus}", kernel, f"cmd={kernel}/kselftest/immediate/{program}:immediate",
        f"--cpus={cpus}", "--time-limit=900", "--append=kunit.filter_glob=none",
        *(f"--env={word}" for word in (f"MODPROBE_OPTIONS=-d {kernel}/modules", *environment)))
    assert code == 0, printed
    return (logs / "jobs.log").read_text(errors="replace")


def test_batch_follows_cpus() -> None:
    """test_batch.sh, which skips with fewer CPUs, has its one result."""
    assert "ok 1 batch_follows_cpus" in kselftest("test_batch.sh", 18)


@pytest.mark.late
def test_torn_zero() -> None:
    """No read of 100 million is torn, or of a value from outside its window, under sets, module
    load, probes, tracing and hotplug; a slow machine takes several boots for them."""
    counted = 0
    for _ in range(MOST_BOOTS):
        log = kselftest("test_stress.sh", 4, "STRESS_SECONDS=300")
        results = re.findall(r"^# reads=(\d+) .* torn=(\d+) outside=(\d+) ", log, re.M)
        reads, torn, outside = map(int, results[0])
        assert torn == outside == 0, results
        counted += reads
        if counted >= READS:
            return
    assert counted >= READS
