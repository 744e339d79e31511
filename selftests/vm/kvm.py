# SPDX-License-Identifier: GPL-2.0
"""Tells whether KVM works: runs a guest of five bytes, with a time limit.

/dev/kvm may exist and hang at the first KVM_RUN (nested hypervisors), so
neither its presence nor a start of QEMU without a CPU proves anything.
"""
from __future__ import annotations

import subprocess
import tempfile

ROM_SIZE = 64 << 10
# mov $0x10,%al; out %al,$0xf4; hlt: isa-debug-exit ends QEMU with 0x10 * 2 + 1
CODE = b"\xb0\x10\xe6\xf4\xf4"
EXIT = 0x21


def works(accel: str = "kvm", limit: float = 10.0) -> bool:
    """Return whether a guest ran its code within limit seconds."""
    rom = bytearray(b"\xf4" * ROM_SIZE)
    rom[-16:-16 + len(CODE)] = CODE  # the reset vector
    with tempfile.NamedTemporaryFile(suffix=".rom") as file:
        file.write(rom)
        file.flush()
        try:
            qemu = subprocess.Popen(
                ["qemu-system-x86_64", "-accel", accel, "-machine", "pc",
                 "-m", "16M", "-nodefaults", "-display", "none", "-no-reboot",
                 "-bios", file.name,
                 "-device", "isa-debug-exit,iobase=0xf4,iosize=0x4"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True)
        except FileNotFoundError:
            return False
        try:
            return qemu.wait(limit) == EXIT
        except subprocess.TimeoutExpired:
            # Not waited for: a task stuck in KVM may survive SIGKILL.
            qemu.kill()
            return False
