# SPDX-License-Identifier: GPL-2.0
"""Boots that are meant to fail: their results are apart from those of the run."""

import os
import subprocess
import sys
from pathlib import Path

from tools import environment
from tools.environment import ROOT

RESULTS = environment.results() / "runner"


def start(name: str, kernel: Path, *options: str) -> subprocess.Popen[str]:
    """Start a boot with options of boot.py; the job's KTAP_HELPERS are the kernel's."""
    helpers = f"{environment.tree()}/tools/testing/selftests/kselftest/ktap_helpers.sh"
    return subprocess.Popen(
        [sys.executable, "-m", "tools.vm.boot", name, kernel, f"--env=KTAP_HELPERS={helpers}",
         *options], cwd=ROOT, env={**os.environ, "KVM": "0", "RESULTS": str(RESULTS)}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def boot_apart(name: str, kernel: Path, job: str, *options: str) -> tuple[int, str, Path]:
    """Boot a kernel with a job; return its exit status, its output, the directory of its logs."""
    process = start(name, kernel, f"--{job}", *options)
    printed, _ = process.communicate()
    return process.returncode, printed, RESULTS / f"vm-{name}"
