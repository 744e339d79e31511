# SPDX-License-Identifier: GPL-2.0
"""The machine that something is timed on: its CPU model, without a name of the host, and when two
are the same."""
from __future__ import annotations

import json
import platform
import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAME_MODEL = ("vendor_id", "cpu family", "model", "stepping")
# Words in a page for what a block may have
WORDS = {"vendor_id": "vendor", "stepping": "stepping", "tsc_khz": "time-stamp counter (kHz)",
         "hypervisor": "hypervisor", "kernel": "running kernel"}
# The frequency is measured: less than a hundredth is no other CPU model
TOLERANCE = 0.01

Machine = dict[str, str | int]


def cpu(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """Return vendor, family, model, stepping and name of the CPU, and the flags that choose a copy,
    by cpuinfo's keys."""
    info = cpuinfo.read_text(encoding="utf-8")
    found = {key: match[1] for key in ("model name", *SAME_MODEL, "flags")
             if (match := re.search(rf"^{key}\s*: (.*)$", info, re.M))}
    flags = set(found.pop("flags", "").split())
    return {**found, "copy flags": " ".join(sorted(flags & {"fsrm", "erms", "hypervisor"}))}


def caches() -> str:
    """Return the caches of the first CPU in words."""
    found = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size, shared = ((index / name).read_text().strip()
                                     for name in ("level", "type", "size", "shared_cpu_list"))
        found.append(f"L{level} {kind.lower()} {size}, CPUs {shared}")
    return "; ".join(found)


def machine() -> Machine:
    """Return this machine: cpu(), caches, time-stamp counter in kHz, hypervisor or none, kernel.

    Raises OSError and subprocess.CalledProcessError when machine.c cannot be built.
    """
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "machine"
        flags = ["-O2", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["gcc", *flags, "-o", program, HERE / "machine.c"], check=True)
        more = json.loads(subprocess.check_output([program]))
    return {**cpu(), "caches": caches(), **more, "kernel": platform.release()}


def same_model(one: Machine, other: Machine) -> bool:
    """Say whether two machines are known to be of one CPU model under one hypervisor."""
    keys = (*SAME_MODEL, "hypervisor")
    if any(one.get(key) is None or one.get(key) != other.get(key) for key in keys):
        return False
    a, b = one.get("tsc_khz"), other.get("tsc_khz")
    return isinstance(a, int) and isinstance(b, int) and abs(a - b) <= TOLERANCE * a


def told(of: Machine) -> str:
    """Return what a machine has of WORDS, and what of it was not recorded, in a sentence."""
    there = ", ".join(f"{word} {of[key]}" for key, word in WORDS.items() if of.get(key) is not None)
    gone = ", ".join(word for key, word in WORDS.items() if of.get(key) is None)
    facts = [there[:1].upper() + there[1:], f"Not recorded: {gone}" if gone else ""]
    return ". ".join(filter(None, facts)) + "."
