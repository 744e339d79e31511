# SPDX-License-Identifier: GPL-2.0
"""Boots in which LKDTM crashes or checks the kernel, whatever becomes of it."""

from pathlib import Path

from tools.vm.apart import boot_apart


def provoke(name: str, command: str, parameters: str, kernel: Path) -> str:
    """Boot a kernel, run a command of the shell that writes to $DIRECT; returns the console log.

    The verdict on the boot does not count: it may end in a panic.
    """
    job = ("cmd=DIRECT=/sys/kernel/debug/provoke-crash/DIRECT; echo lkdtm: begins >/dev/kmsg; "
           f"{command}:lkdtm")
    _, printed, logs = boot_apart(f"lkdtm-{name}", kernel, job, "--time-limit=300",
                                  *(f"--append={word}" for word in parameters.split()))
    console = logs / "console.log"
    log = console.read_text(errors="replace") if console.exists() else ""
    assert "lkdtm: begins" in log, printed[-3000:] + log[-1000:]
    return log
