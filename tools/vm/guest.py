# SPDX-License-Identifier: GPL-2.0
"""Runs one guest by virtme-ng: its script, its command line, its end, and what its jobs printed.

The script writes to a virtio-serial port of its own, found by its name in sysfs (there may be no
udev to make links), so that job output and kernel messages never share a line. Marks go both there
and to the kernel log. virtme-ng opens its standard output and error by name in /proc: for a regular
file that is a second file offset and a truncation, so it gets a pipe.
"""
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from tools import environment
from tools.vm.tables import Boot

APPEND = ("panic_on_warn=1", "oops=panic", "ignore_loglevel", "printk.devkmsg=on")
MARK = "vm-boot:"
PORT = "vm.jobs"
SCRIPT = """#!/bin/sh
# Runs the jobs of one boot and marks begin and end of each.
{exports}
for port in /sys/class/virtio-ports/*; do
	[ "$(cat "$port/name")" != {port} ] || exec > "/dev/${{port##*/}}" 2>&1
done
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
mark() {{
	printf '\\n{mark} %s\\n' "$1"
	echo "<5>{mark} $1" > /dev/kmsg
}}
# A pipe, for run_kselftest.sh opens /dev/stdout, which a port refuses.
exec 4>&1
run() {{
	mark "begin $1"
	rc=$({{ {{ sh -c "$2" < /dev/null 2>&1 3>&- 4>&-; echo $? >&3; }} | cat >&4; }} 3>&1)
	mark "end $1 rc=$rc"
}}
{runs}
mark "done taint=$(cat /proc/sys/kernel/tainted)"
"""


def guest_script(commands: Iterable[str], nonce: str, variables: Iterable[str] = ()) -> str:
    """Return the guest's script: it runs commands in turn, each with an empty standard input.

    Args: the commands; what marks have that no test prints; NAME=VALUE words for all commands.
    """
    return SCRIPT.format(
        port=PORT, mark=f"{MARK} {nonce}",
        exports="\n".join(f"export {shlex.quote(word)}" for word in variables),
        runs="\n".join(f"run {number} {shlex.quote(command)}"
                       for number, command in enumerate(commands)))


def command_line(boot: Boot, image: Path, script: Path, jobs_log: Path, kvm: bool) -> list[str]:
    """Return virtme-ng's command line for a boot; raises FileNotFoundError."""
    row = boot.row
    vng = Path(sys.executable).parent / "vng"
    if not vng.exists():
        raise FileNotFoundError(f"no vng in the directory of {sys.executable}: make tools")
    command = [str(vng), "--run", shlex.quote(str(image)), "--name", boot.name, "--force-9p",
               "--skip-modules", "--verbose", "--cpus", str(row.cpus), "--memory", row.memory]
    # virtme-ng passes these on through a shell without quotes
    port = shlex.quote("file,id=vmjobs,path=" + str(jobs_log).replace(",", ",,"))
    qemu = ["-device virtio-serial-pci,id=vmbus", f"-chardev {port}",
            f"-device virtserialport,bus=vmbus.0,chardev=vmjobs,name={PORT}"]
    if not kvm:
        command.append("--disable-kvm")
        # thread=multi of QEMU 7.2 breaks live text poking, and a remap of PCI memory on one CPU can
        # send another's MMIO to a wrong device: "msix_table_mmio_write: Assertion", once in some
        # twenty boots.
        qemu.insert(0, "-accel tcg,thread=single")
    if row.cpu:
        qemu.append(f"-cpu {'host' if kvm else 'max'},{shlex.quote(row.cpu)}")
    if boot.programs:
        command += ["--overlay-rwdir", shlex.quote(f"{environment.kernel()}/kselftest")]
    return [*command, *(f"--append={word}" for word in (*APPEND, *row.append.split())),
            *(f"--qemu-opts={words}" for words in qemu), "--exec", f"sh {shlex.quote(str(script))}"]


def wait(process: subprocess.Popen, limit: float, stopped: Event) -> str:
    """Return when a process ended, after limit seconds or when stopped is set: which it was."""
    last = time.monotonic() + limit
    while process.poll() is None:
        if stopped.wait(0.1):
            return "interrupted"
        if time.monotonic() > last:
            return "limit"
    return "ended"


def run(command: list[str], console: Path, limit: float, stopped: Event) -> str:
    """Run a guest; returns how it ended: ended, limit or interrupted.

    console: file for the kernel's console; limit: seconds. On the limit and when stopped is set the
    whole process group is killed, and also when this process is killed; the logs stay.
    """
    with (tempfile.TemporaryDirectory(prefix="vm-boot-", ignore_cleanup_errors=True) as temporary,
          console.open("wb") as log):
        # A user's virtme-ng configuration must not change a test.
        variables = os.environ | {
            "HOME": temporary, "TMPDIR": temporary,
            "PATH": f"{Path(command[0]).parent}:{os.environ.get('PATH', '')}"
                    ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"}
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=variables, start_new_session=True)
        # It outlives a SIGKILL of this process, whose end closes the pipe
        guard = subprocess.Popen(
            ["sh", "-c", f"read -r _; kill -s KILL -- -{process.pid}"], stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True)
        pump = subprocess.Popen(["cat"], stdin=process.stdout, stdout=log, start_new_session=True)
        try:
            end = wait(process, limit, stopped)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            guard.communicate()
            process.wait()
            try:
                pump.wait(5)
            except subprocess.TimeoutExpired:
                pump.kill()
    return end


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
        match = mark.match(line)
        if match and match[1] == "begin":
            current = outputs[int(match[2])] = Output([])
        elif match and current:
            current.rc = int(match[3])
            current = None
        elif current:
            current.lines.append(line)
    return outputs


def before_jobs(log: list[str], nonce: str) -> list[str]:
    """Return the kernel log up to the first job: where KUnit ran."""
    first = (number for number, line in enumerate(log) if f"{MARK} {nonce} " in line)
    return log[:next(first, None)]


def end_taint(log: list[str], nonce: str) -> int | None:
    """Return the taint value of the end mark, None when there is no mark."""
    found = re.findall(rf"{MARK} {nonce} done taint=(\d+)$", "\n".join(log), re.M)
    return int(found[-1]) if found else None
