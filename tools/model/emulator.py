# SPDX-License-Identifier: GPL-2.0
"""QEMU with the plugin: which interface it has, and one run that is the same
each time (single-threaded TCG, virtual time from the instruction count, no
random numbers, no device that works beside the CPU)."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable

from tools.model.workload import ModelError

APPEND = ("console=ttyS0", "nokaslr", "norandmaps", "kunit.enable=0", "quiet",
          "panic=-1", "oops=panic", "panic_on_warn=1")
PROGRESS = "cachemodel: progress "


def plugin_api(version: str) -> int:
    """Return the plugin interface of a QEMU, from its --version text."""
    found = re.search(r"version (\d+)\.(\d+)", version)
    if not found:
        raise ModelError(f"not a QEMU version: {version.strip()[:80]!r}")
    number = int(found[1]), int(found[2])
    return 1 if number < (9, 0) else 2 if number < (9, 1) else 3


def version_of(program: str) -> str:
    """Return the first line of a QEMU's --version; raises ModelError for one
    that is no QEMU or has no plugins."""
    try:
        version, options = (subprocess.run(
            [program, question], capture_output=True, text=True, errors="replace",
            check=True).stdout for question in ("--version", "-help"))
    except (OSError, subprocess.CalledProcessError) as error:
        raise ModelError(f"{program} does not run: {error}") from None
    if not re.search(r"^-plugin\b", options, re.M):
        raise ModelError(f"{program} was built without plugins (it has no -plugin option): "
                            "use one configured with --enable-plugins")
    plugin_api(version)
    return version.split("\n")[0]


def cpu(cpuid: str) -> str:
    """Return the value of QEMU's option -cpu. cpuid: words that are put over it."""
    return "max,-rdrand,-rdseed,-la57" + (f",{cpuid}" if cpuid else "")


def options(image: Path, initramfs: Path, console: Path, append: list[str]) -> list[str]:
    """Return QEMU's options of every run. image: bzImage; console: file for the guest's lines;
    append: kernel parameters."""
    return ["-nodefaults", "-no-user-config", "-machine", "pc", "-display", "none", "-vga", "none",
            "-no-reboot", "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off",
            "-rtc", "base=2020-01-01,clock=vm", "-seed", "42", "-serial", f"file:{console}",
            "-kernel", str(image), "-initrd", str(initramfs),
            "-append", " ".join([*APPEND, *append])]


def run(command: list[str], console: Path, log: Path, limit: float,
        progress: Callable[[str], None]) -> float:
    """Run QEMU to its end and return the seconds it took.

    console: where the guest's lines come; log: for QEMU's own output; limit: seconds; progress:
    called with the text of each line "cachemodel: progress TEXT". Raises ModelError; QEMU is
    killed at the limit and when this is interrupted.
    """
    console.write_text("")
    start, seen = time.monotonic(), 0
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   start_new_session=True)
        try:
            while process.poll() is None:
                if time.monotonic() - start > limit:
                    raise ModelError(f"not done after {limit:g} s, killed; "
                                        f"the guest's console is {console}")
                time.sleep(0.1)
                lines = console.read_text(errors="replace").split("\n")[:-1]
                for line in lines[seen:]:
                    if line.startswith(PROGRESS):
                        progress(line.removeprefix(PROGRESS).strip())
                seen = len(lines)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    lines = [line for line in log.read_text(errors="replace").split("\n") if line]
    plugin = [line for line in lines if line.startswith("cachemodel: ")]
    if process.returncode or plugin:
        raise ModelError((plugin or lines or [
            f"QEMU ended with status {process.returncode} and said nothing"])[-1])
    return time.monotonic() - start
