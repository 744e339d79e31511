# SPDX-License-Identifier: GPL-2.0
"""Boots in which LKDTM crashes or checks the kernel, whatever becomes of it."""

from pathlib import Path

from tools.vm.single import boot_single
from tools.vm.boot import failures
from tools.vm.tables import Job


def provoke(name: str, command: str, parameters: str, kernel: Path) -> str:
    """Boot a kernel, run a command of the shell that writes to $DIRECT; returns the console log.

    The verdict on the boot does not count: it may end in a panic.
    """
    job = Job("cmd", "DIRECT=/sys/kernel/debug/provoke-crash/DIRECT; "
              f"echo lkdtm: begins >/dev/kmsg; {command}", "lkdtm")
    results, logs = boot_single(f"lkdtm-{name}", kernel, job, time_limit=300,
                               append=parameters)
    console = logs / "console.log"
    log = console.read_text(errors="replace") if console.exists() else ""
    assert "lkdtm: begins" in log, [*failures(results), log[-1000:]]
    return log
