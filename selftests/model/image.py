# SPDX-License-Identifier: GPL-2.0
"""The guest's initramfs: its program, its modules and, for a workload that
writes, a file system to be put on a RAM disk."""
from __future__ import annotations

import os
import struct
import subprocess
import tempfile
from pathlib import Path

BLOCK = 4096
DISK_MIB = 1024
UUID = "00000000-0000-4000-8000-000000000001"


class ImageError(RuntimeError):
    """A tool failed or a part is missing."""


def _run(command: list[str], output: Path | None = None, **environment: str) -> None:
    """Run a tool, its standard output to a file; raises ImageError."""
    with (output or Path(os.devnull)).open("wb") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE,
                              env=dict(os.environ, **environment), check=False)
    if done.returncode:
        raise ImageError(f"{command[0]}: {done.stderr.decode().strip()}")


def make_disk(target: Path) -> None:
    """Write the blocks of an empty ext4 that are not zero, each after its number (8 bytes, little
    endian): the same bytes each time. Raises ImageError."""
    with tempfile.TemporaryDirectory() as directory:
        image = Path(directory) / "disk"
        _run(["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-b", str(BLOCK),
              "-U", UUID, "-E", f"hash_seed={UUID},nodiscard,lazy_itable_init=1",
              str(image), f"{DISK_MIB}M"],
             E2FSPROGS_FAKE_TIME="1577836800", MKE2FS_CONFIG=os.devnull)
        with image.open("rb") as disk, target.open("wb") as out:
            number = 0
            while block := disk.read(BLOCK):
                if any(block):
                    out.write(struct.pack("<Q", number) + block)
                number += 1


def make_initramfs(target: Path, kernel: Path, program: Path, modules: Path, disk: bool) -> None:
    """Write the archive with the kernel's own gen_init_cpio.

    kernel: O= directory; modules: directory of *.ko. Raises ImageError.
    """
    lines = ["dir /dev 0755 0 0", "nod /dev/console 0600 0 0 c 5 1",
             f"file /init {program} 0755 0 0"]
    lines += [f"file /{module.name} {module} 0644 0 0" for module in sorted(modules.glob("*.ko"))]
    # What the series itself has for the model
    reads = kernel / "lib/test_imv_reads.ko"
    if reads.is_file():
        lines.append(f"file /{reads.name} {reads} 0644 0 0")
    for part in (program, modules / "calibrate.ko", modules / "kinds.ko"):
        if not part.is_file():
            raise ImageError(f"{part} is missing: scripts/model.sh builds it")
    with tempfile.TemporaryDirectory() as directory:
        if disk:
            make_disk(Path(directory) / "disk")
            lines.append(f"file /disk {directory}/disk 0600 0 0")
        spec = Path(directory) / "spec"
        spec.write_text("\n".join(lines) + "\n")
        _run([str(kernel / "usr/gen_init_cpio"), "-t", "0", str(spec)], target)
