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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

APPEND = ("console=ttyS0", "nokaslr", "norandmaps", "kunit.enable=0", "quiet",
          "panic=-1", "oops=panic", "panic_on_warn=1")
CPU = "max,-rdrand,-rdseed,-la57"


class EmulatorError(RuntimeError):
    """QEMU cannot be used, or a run did not come to its end."""


def plugin_api(version: str) -> int:
    """Return the plugin interface of a QEMU, from its --version text."""
    found = re.search(r"version (\d+)\.(\d+)", version)
    if not found:
        raise EmulatorError(f"not a QEMU version: {version.strip()[:80]!r}")
    number = int(found[1]), int(found[2])
    return 1 if number < (9, 0) else 2 if number < (9, 1) else 3


@dataclass
class Emulator:
    """A qemu-system-x86_64. program: name or path; options: more of its own (such as -L DIRECTORY);
    version: what it says of itself; cpuid: what is put over the words of -cpu, NAME=VALUE,..."""

    program: str = "qemu-system-x86_64"
    options: list[str] = field(default_factory=list)
    version: str = ""
    cpuid: str = ""

    def cpu(self) -> str:
        """Return the value of its option -cpu."""
        return ",".join([CPU, *filter(None, [self.cpuid])])

    def check(self) -> int:
        """Return its plugin interface; raises EmulatorError."""
        try:
            answers = [subprocess.run(
                [self.program, question], capture_output=True, text=True,
                errors="replace", check=True).stdout for question in ("--version", "-help")]
        except (OSError, subprocess.CalledProcessError) as error:
            raise EmulatorError(f"{self.program} does not run: {error}") from None
        self.version = answers[0].split("\n")[0]
        if not re.search(r"^-plugin\b", answers[1], re.M):
            raise EmulatorError(
                f"{self.program} was built without plugins (it has no -plugin "
                "option): use one configured with --enable-plugins")
        return plugin_api(self.version)

    def command(self, kernel: Path, initramfs: Path, console: Path,
                plugin: str, append: list[str], cpus: int, memory: str
                ) -> list[str]:
        """Return the command line of one run.

        kernel: bzImage; console: file for the guest's lines; plugin: file and its arguments,
        FILE,NAME=VALUE,...; append: kernel parameters; memory: as QEMU wants it, 2G at most.
        """
        return [
            self.program, *self.options, "-nodefaults", "-no-user-config",
            "-machine", "pc", "-display", "none", "-vga", "none", "-no-reboot",
            "-m", memory, "-smp", str(cpus),
            "-accel", "tcg,thread=single",
            "-icount", "shift=0,sleep=off", "-rtc", "base=2020-01-01,clock=vm",
            "-cpu", self.cpu(), "-seed", "42",
            "-serial", f"file:{console}", "-kernel", str(kernel),
            "-initrd", str(initramfs), "-append", " ".join([*APPEND, *append]),
            "-plugin", plugin]


def _said(log: Path) -> tuple[list[str], list[str]]:
    """Return the plugin's lines and all lines of QEMU's output."""
    lines = [line for line in log.read_text(errors="replace").split("\n") if line]
    return [line for line in lines if line.startswith("cachemodel: ")], lines


def run(command: list[str], console: Path, log: Path, limit: float,
        progress: Callable[[str], None]) -> float:
    """Run QEMU to its end and return the seconds it took.

    console: where the guest's lines come; log: for QEMU's own output; limit:
    seconds; progress: told of each line "cachemodel: progress ...". Raises
    EmulatorError; QEMU is killed at the limit and when this is interrupted.
    """
    console.write_text("")
    start, seen = time.monotonic(), 0
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=out, start_new_session=True)
        try:
            while process.poll() is None:
                if time.monotonic() - start > limit:
                    raise EmulatorError(f"not done after {limit:g} s, killed; "
                                        f"the guest's console is {console}")
                time.sleep(0.1)
                lines = console.read_text(errors="replace").split("\n")[:-1]
                for line in lines[seen:]:
                    if line.startswith("cachemodel: progress "):
                        progress(line.removeprefix("cachemodel: progress ").strip())
                seen = len(lines)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    mine, lines = _said(log)
    if process.returncode or mine:
        raise EmulatorError((mine or lines or [
            f"QEMU ended with status {process.returncode} and said nothing"])[-1])
    return time.monotonic() - start
