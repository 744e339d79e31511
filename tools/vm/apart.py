# SPDX-License-Identifier: GPL-2.0
"""Boots that are meant to fail: their results are apart from those of the run."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def boot_apart(name: str, kernel: Path, job: str, *options: str) -> tuple[int, str, Path]:
    """Boot a kernel with a job and options of boot.py; the job's KTAP_HELPERS are the kernel's.

    Returns its exit status, what it printed, and the directory of the boot's logs.
    """
    helpers = f"{os.environ['CF_TREE']}/tools/testing/selftests/kselftest/ktap_helpers.sh"
    results = Path(os.environ["CF_RESULTS"]) / "runner"
    done = subprocess.run(
        [sys.executable, "-m", "tools.vm.boot", f"--kernel={kernel}", f"--name={name}",
         f"--tree={os.environ['CF_TREE']}", f"--results={results}", f"--job={job}",
         f"--env=KTAP_HELPERS={helpers}", *options],
        cwd=ROOT, env={**os.environ, "KVM": "0"}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True)
    return done.returncode, done.stdout + done.stderr, results / f"vm-{name}"
