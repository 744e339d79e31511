# SPDX-License-Identifier: GPL-2.0
"""Files keep what was written to them while much else goes on: a boot with fio.

storm.sh is what runs in the guest, storm.fio what fio does there. STORM_SEED=number repeats one.
"""
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import environment
from tools.vm.single import boot_single
from tools.vm.boot import failures
from tools.vm.tables import Job

pytestmark = pytest.mark.full

HERE = Path(__file__).resolve().parent
TESTS = 7
ROUNDS, SIZE = 5, "10m"


def test_verify_storm() -> None:
    """The sysctl changes all the time and memory is short: contents and file systems are right."""
    if not shutil.which("fio"):
        pytest.skip("not installed: fio (of Debian)")
    shim = environment.build() / "storm/dontcache.so"  # the guest has a /tmp of its own
    shim.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", shim,
                    HERE / "dontcache.c"], check=True, stdin=subprocess.DEVNULL)
    seed = os.environ.get("STORM_SEED") or random.randrange(1, 10**6)
    job = Job("cmd", f"sh {HERE}/storm.sh {shim} {ROUNDS} {SIZE} {seed}", "storm")
    results, logs = boot_single(
        "verify_storm", environment.kernel(), job, memory="512M", time_limit=2700,
        append="init_on_alloc=0 kunit.filter_glob=none")
    log = (logs / "jobs.log").read_text(errors="replace")
    print(f"STORM_SEED={seed}", *re.findall(r"^# (nontemporal_write_bytes .*)", log, re.M))
    assert not failures(results), log[-3000:]
    assert len(re.findall(r"^ok ", log, re.M)) == TESTS, log[-3000:]
