# SPDX-License-Identifier: GPL-2.0
"""Runs one guest by virtme-ng until it ends, is interrupted or takes too long.

virtme-ng opens its standard output and error by name in /proc: for a regular
file that is a second file offset and a truncation, so it gets a pipe. It needs
no terminal then and no standard input.
"""
from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from selftests.vm.jobs import PORT

KVM_SECONDS = 15.0
APPEND = ("panic_on_warn=1", "oops=panic", "ignore_loglevel",
          "printk.devkmsg=on")


class GuestError(RuntimeError):
    """virtme-ng cannot be found."""


@dataclass
class Guest:
    """How a guest is run. memory: as for QEMU; writable: directories that get
    an overlay in the guest; append, qemu_opts: words for either; tcg_thread: single or multi.
    """

    kernel: Path
    name: str
    script: Path
    jobs_log: Path
    cpus: int = 2
    memory: str = "1G"
    kvm: bool = False
    tcg_thread: str = "single"
    append: list[str] = field(default_factory=list)
    qemu_opts: list[str] = field(default_factory=list)
    writable: list[Path] = field(default_factory=list)

    def command(self) -> list[str]:
        """Return virtme-ng's command line; raises GuestError."""
        vng = Path(sys.executable).parent / "vng"
        if not vng.exists():
            raise GuestError(f"no vng beside {sys.executable}: "
                             "install virtme-ng there")
        # virtme-ng hands these on through a shell without quotes.
        port = shlex.quote("file,id=vmjobs,path="
                           + str(self.jobs_log).replace(",", ",,"))
        qemu = ["-device virtio-serial-pci,id=vmbus", f"-chardev {port}",
                "-device virtserialport,bus=vmbus.0,chardev=vmjobs,"
                f"name={PORT}", *self.qemu_opts]
        command = [str(vng), "--run", shlex.quote(str(self.kernel)),
                   "--name", self.name, "--force-9p", "--skip-modules",
                   "--verbose", "--cpus", str(self.cpus),
                   "--memory", self.memory]
        if not self.kvm:
            command.append("--disable-kvm")
            # thread=multi of QEMU 7.2 breaks live text poking, and a remap of
            # PCI memory on one CPU can send another's MMIO to a wrong device:
            # "msix_table_mmio_write: Assertion", once in some twenty boots.
            qemu.insert(0, f"-accel tcg,thread={self.tcg_thread}")
        for directory in self.writable:
            command += ["--overlay-rwdir", shlex.quote(str(directory))]
        command += [f"--append={word}" for word in (*APPEND, *self.append)]
        command += [f"--qemu-opts={words}" for words in qemu]
        return [*command, "--exec", f"sh {shlex.quote(str(self.script))}"]


@dataclass
class Outcome:
    """How a guest ended. seconds: wall time; end: ended, limit, interrupted, or silent: no kernel spoke."""

    seconds: float
    end: str


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy what comes, as it comes, until the last writer is gone."""
    while data := os.read(source.fileno(), 1 << 16):
        target.write(data)
        target.flush()


def _wait(process: subprocess.Popen, console: Path, limit: float, first: float) -> str:
    """Wait for the end of a guest; returns how it ended. first: seconds until the kernel speaks, 0 for no such limit."""
    try:
        if first:
            try:
                process.wait(first)
            except subprocess.TimeoutExpired:
                if b"Linux version " not in console.read_bytes():
                    return "silent"
        process.wait(limit - first)
    except subprocess.TimeoutExpired:
        return "limit"
    except KeyboardInterrupt:
        return "interrupted"
    return "ended"


def run(guest: Guest, console: Path, limit: float) -> Outcome:
    """Run a guest and return how it ended.

    console: file for the kernel's console; limit: seconds. On the limit and on
    SIGINT or SIGTERM the whole process group is killed, and by a guard when this
    process is killed; the logs stay. With KVM,
    which may be there and hang, so is a guest that says nothing for KVM_SECONDS.
    """
    command = guest.command()
    start = time.monotonic()
    end = "ended"
    handlers = {number: signal.signal(number, signal.default_int_handler)
                for number in (signal.SIGINT, signal.SIGTERM)}
    with (tempfile.TemporaryDirectory(
            prefix="vm-boot-", ignore_cleanup_errors=True) as temporary,
          console.open("wb") as log):
        # A user's virtme-ng configuration must not change a test.
        environment = dict(
            os.environ, HOME=temporary, TMPDIR=temporary,
            PATH=f"{Path(command[0]).parent}:{os.environ.get('PATH', '')}"
                 ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        # It outlives a SIGKILL of this process, whose end closes the pipe
        guard = subprocess.Popen(["sh", "-c", f"read -r _; kill -s KILL -- -{process.pid}"], stdin=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
        assert process.stdout
        pump = threading.Thread(target=_copy, args=(process.stdout, log),
                                daemon=True)
        try:
            pump.start()
            end = _wait(process, console, limit, KVM_SECONDS if guest.kvm else 0)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            guard.communicate()
            pump.join(5)
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return Outcome(time.monotonic() - start, end)
