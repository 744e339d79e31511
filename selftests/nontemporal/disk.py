#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""For a machine with a disk of its own and a kernel of the series, as root: how fast fio writes a
file by 1 MiB, buffered, with RWF_DONTCACHE and with O_DIRECT, and vm.nontemporal_write off and on.

  disk.py DIRECTORY [SIZE]    SIZE: of the file, as fio takes it (64G), twice the memory by default

Prints MB/s and the 99.9th percentile of the latency in microseconds. The sysctls are set back.
Exit status: 0 done, 1 fio failed or the kernel has no such sysctl, 2 usage.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SYSCTL = Path("/proc/sys/vm/nontemporal_write")
LEAST = Path("/proc/sys/vm/nontemporal_write_min")
COUNTER = re.compile(r"^nontemporal_write_bytes (\d+)$", re.M)
FLAGS = Path(__file__).with_name("dontcache.c")
# Name, value of the sysctl, options of fio
ROWS = (("buffered", 0, []), ("buffered", 2, []), ("RWF_DONTCACHE", 0, ["--uncached=1"]),
        ("RWF_DONTCACHE", 1, ["--uncached=1"]), ("O_DIRECT", 0, ["--direct=1"]))


def write(file: Path, size: str, options: list[str], shim: Path) -> tuple[float, float]:
    """Have fio write a file; return MB/s and the 99.9th percentile in us.

    Raises OSError and subprocess.CalledProcessError.
    """
    file.unlink(missing_ok=True)
    os.sync()
    words = ["fio", "--name=disk", f"--filename={file}", "--rw=write", "--bs=1M", f"--size={size}",
             "--ioengine=pvsync2", "--end_fsync=1", "--output-format=json", *options]
    done = subprocess.run(words, check=True, capture_output=True, text=True,
                          env={**os.environ, "LD_PRELOAD": str(shim)})
    found = json.loads(done.stdout)["jobs"][0]["write"]
    return found["bw_bytes"] / 1e6, found["clat_ns"]["percentile"]["99.900000"] / 1000


def bypassed() -> int:
    """Return how many bytes bypassed the caches since the kernel was started."""
    found = COUNTER.search(Path("/proc/vmstat").read_text(encoding="ascii"))
    return int(found[1]) if found else 0


def main() -> int:
    """Print a row for each of ROWS."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    parser.add_argument("size", nargs="?", default=f"{2 * memory + 1}G")
    given = parser.parse_args()
    if not given.directory.is_dir():
        parser.error(f"{given.directory} is no directory")
    file = given.directory / f"nontemporal.{os.getpid()}"
    try:
        before = {path: path.read_text(encoding="ascii") for path in (SYSCTL, LEAST)}
        with tempfile.TemporaryDirectory() as directory:
            shim = Path(directory) / "dontcache.so"
            subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", shim, FLAGS], check=True)
            try:
                print(f"{'written':15} sysctl    MB/s   99.9 % (us)", flush=True)
                LEAST.write_text(str(1 << 20), encoding="ascii")
                for name, value, options in ROWS:
                    SYSCTL.write_text(str(value), encoding="ascii")
                    count = bypassed()
                    speed, late = write(file, given.size, options, shim)
                    if value and bypassed() == count:
                        raise OSError(f"{name}: nothing bypassed the caches (init_on_alloc=1?)")
                    print(f"{name:15} {value:6} {speed:7.0f} {late:13.0f}", flush=True)
            finally:
                for path, text in before.items():
                    path.write_text(text, encoding="ascii")
                file.unlink(missing_ok=True)
    except subprocess.CalledProcessError as error:
        print(f"disk.py: error: {error}: {(error.stderr or '').strip()[-500:]}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"disk.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
