# SPDX-License-Identifier: GPL-2.0
"""Boots in which LKDTM does what it is told, whatever becomes of the kernel."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIRECT = "/sys/kernel/debug/provoke-crash/DIRECT"


def provoke(name: str, command: str, parameters: str, kernel: Path) -> str:
    """Boot a kernel, run a command of the shell that writes to $DIRECT, and return the console log.

    What the boot is found to be is not looked at: it may end in a panic.
    """
    results = Path(os.environ["CF_RESULTS"]) / "lkdtm"
    done = subprocess.run(
        [sys.executable, "-m", "selftests.vm.boot", f"--kernel={kernel}", f"--tree={os.environ['CF_TREE']}",
         f"--results={results}", f"--name={name}", "--time-limit=300", *(f"--append={word}" for word in parameters.split()),
         f"--job=cmd=DIRECT={DIRECT}; echo lkdtm: begins >/dev/kmsg; {command}:lkdtm"],
        cwd=ROOT, env={**os.environ, "KVM": "0"}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    console = results / f"vm-{name}" / "console.log"
    log = console.read_text(errors="replace") if console.exists() else ""
    assert "lkdtm: begins" in log, done.stdout[-2000:] + done.stderr[-1000:] + log[-1000:]
    return log
