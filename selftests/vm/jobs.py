# SPDX-License-Identifier: GPL-2.0
"""Jobs of a boot: reads --job, writes the guest's script, splits its output.

The script writes to a virtio-serial port of its own, found by its name in
sysfs (there may be no udev to make links), so that job output and kernel
messages never share a line. Marks go both there and to the kernel log.
"""
from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

PORT = "vm.jobs"
MARK = "vm-boot:"


class JobError(ValueError):
    """A --job cannot be understood."""


@dataclass
class Job:
    """One job. kind: kunit, kselftest or cmd; what: its target or command;
    part: what the ids of its tests start with.
    """

    kind: str
    what: str
    part: str

    def __str__(self) -> str:
        return f"{self.kind}={self.what}" if self.what else self.kind


def parse_job(text: str) -> Job:
    """Return the job of 'kunit[:PART]', 'kselftest=TARGET[:PART]' or
    'cmd=COMMAND:PART'; raises JobError.
    """
    match = re.fullmatch(r"kunit(?::([\w.-]+))?", text)
    if match:
        return Job("kunit", "", match[1] or "kunit")
    match = re.fullmatch(r"kselftest=([\w./-]+)(?::([\w.-]+))?", text)
    if match:
        return Job("kselftest", match[1],
                   match[2] or match[1].replace("/", "_"))
    match = re.fullmatch(r"cmd=(.*\S.*):([\w.-]+)", text, re.DOTALL)
    if match:
        return Job("cmd", match[1], match[2])
    raise JobError(f"--job {text}: neither kunit[:PART], "
                   "kselftest=TARGET[:PART] nor cmd=COMMAND:PART")


def kselftest_programs(directory: Path, target: str) -> list[str]:
    """Return the programs of a target in an installed kselftest directory.

    Raises JobError when there is no such directory or target.
    """
    try:
        text = (directory / "kselftest-list.txt").read_text()
    except OSError as error:
        raise JobError(f"--kselftest-dir {directory}: {error.strerror}: "
                       "kselftest-list.txt") from error
    found = [line.partition(":")[2] for line in text.splitlines()
             if line.partition(":")[0] == target]
    if not found:
        raise JobError(f"kselftest={target}: not in {directory}")
    return found


def kselftest_command(directory: Path, target: str,
                      leave_out: list[str], seconds: int = 0) -> str:
    """Return the shell command that runs a target but for some programs.

    seconds: limit of one program, 0 for the target's own.
    """
    words = ["./run_kselftest.sh", "-c", target]
    if seconds:
        words += ["-o", str(seconds)]
    for program in leave_out:
        words += ["-S", f"{target}:{program}"]
    return f"cd {shlex.quote(str(directory))} && {shlex.join(words)}"


def guest_script(commands: list[str], nonce: str,
                 environment: list[str] | None = None) -> str:
    """Return the shell script that runs commands in turn in the guest.

    Each runs in a shell of its own with an empty stdin, and with the
    NAME=VALUE words of environment; the last mark carries the kernel's taint
    value.
    """
    lines = [
        "#!/bin/sh",
        "# Runs the jobs of one boot and marks begin and end of each.",
        *(f"export {shlex.quote(word)}" for word in environment or []),
        "for port in /sys/class/virtio-ports/*; do",
        f'\tif [ "$(cat "$port/name")" = {PORT} ]; then',
        '\t\texec > "/dev/${port##*/}" 2>&1',
        "\tfi",
        "done",
        "mountpoint -q /sys/kernel/debug ||",
        "\tmount -t debugfs debugfs /sys/kernel/debug",
        "mark() {",
        f"\tprintf '\\n{MARK} {nonce} %s\\n' \"$1\"",
        f'\techo "<5>{MARK} {nonce} $1" > /dev/kmsg',
        "}",
        "# A pipe, for run_kselftest.sh opens /dev/stdout, which a port refuses.",
        "exec 4>&1",
        "run() {",
        '\tmark "begin $1"',
        '\trc=$({ { sh -c "$2" < /dev/null 2>&1 3>&- 4>&-; echo $? >&3; } |',
        "\t\tcat >&4; } 3>&1)",
        '\tmark "end $1 rc=$rc"',
        "}",
    ]
    lines += [f"run {number} {shlex.quote(command)}"
              for number, command in enumerate(commands)]
    lines.append('mark "done taint=$(cat /proc/sys/kernel/tainted)"')
    return "\n".join(lines) + "\n"


@dataclass
class Output:
    """What one job printed. rc: its exit status, None if it did not end."""

    lines: list[str]
    rc: int | None = None


def split_output(text: str, nonce: str) -> dict[int, Output]:
    """Return the output of each job that began, by its number."""
    outputs: dict[int, Output] = {}
    current: Output | None = None
    mark = re.compile(rf"{MARK} {nonce} (begin|end) (\d+)(?: rc=(\d+))?$")
    for line in text.replace("\r", "").split("\n"):
        if match := mark.match(line):
            if match[1] == "begin":
                current = outputs[int(match[2])] = Output([])
            elif current:
                current.rc = int(match[3])
                current = None
        elif current:
            current.lines.append(line)
    return outputs


def before_jobs(log: list[str], nonce: str) -> list[str]:
    """Return the kernel log up to the first job: where KUnit ran."""
    for number, line in enumerate(log):
        if f"{MARK} {nonce} " in line:
            return log[:number]
    return log


def end_taint(log: list[str], nonce: str) -> int | None:
    """Return the taint value of the end mark, None when there is no mark."""
    pattern = re.compile(rf"{MARK} {nonce} done taint=(\d+)$")
    for line in reversed(log):
        if match := pattern.search(line):
            return int(match[1])
    return None
