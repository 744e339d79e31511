# SPDX-License-Identifier: GPL-2.0
"""The guest's initramfs: its program, its modules and, for a workload that
writes, a file system to be put on a RAM disk."""
from __future__ import annotations

import os
import struct
import subprocess
import tempfile
from pathlib import Path

from tools.model.workload import ModelError

BLOCK = 4096
UUID = "00000000-0000-4000-8000-000000000001"


def _run(command: list[str], output: Path, **environment: str) -> None:
    """Run a tool, its standard output to a file; raises ModelError."""
    with output.open("wb") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE,
                              env=os.environ | environment, check=False)
    if done.returncode:
        raise ModelError(f"{command[0]}: {done.stderr.decode().strip()}")


def make_disk(target: Path, image: Path) -> None:
    """Write the blocks of an empty ext4 that are not zero, each after its number (8 bytes, little
    endian): the same bytes each time. image: a scratch file. Raises ModelError."""
    _run(["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-b", str(BLOCK), "-U", UUID,
          "-E", f"hash_seed={UUID},nodiscard,lazy_itable_init=1", str(image), "1024M"],
         Path(os.devnull), E2FSPROGS_FAKE_TIME="1577836800", MKE2FS_CONFIG=os.devnull)
    with image.open("rb") as disk, target.open("wb") as out:
        for number, block in enumerate(iter(lambda: disk.read(BLOCK), b"")):
            if any(block):
                out.write(struct.pack("<Q", number) + block)
    image.unlink()


def make_initramfs(target: Path, kernel: Path, program: Path, modules: Path, disk: bool) -> None:
    """Write the archive with the kernel's own gen_init_cpio.

    kernel: O= directory; modules: directory of *.ko. Raises ModelError.
    """
    for part in (program, modules / "calibrate.ko", modules / "kinds.ko"):
        if not part.is_file():
            raise ModelError(f"{part} is missing: tools/model.sh builds it")
    # What the series itself has for the model, where it is built
    reads = kernel / "lib/test_imv_reads.ko"
    loaded = [*sorted(modules.glob("*.ko")), *([reads] if reads.is_file() else [])]
    lines = ["dir /dev 0755 0 0", "nod /dev/console 0600 0 0 c 5 1",
             f"file /init {program} 0755 0 0",
             *(f"file /{module.name} {module} 0644 0 0" for module in loaded)]
    with tempfile.TemporaryDirectory() as directory:
        blocks, spec = Path(directory) / "disk", Path(directory) / "spec"
        if disk:
            make_disk(blocks, Path(directory) / "image")
            lines.append(f"file /disk {blocks} 0600 0 0")
        spec.write_text("\n".join(lines) + "\n")
        _run([str(kernel / "usr/gen_init_cpio"), "-t", "0", str(spec)], target)
