# SPDX-License-Identifier: GPL-2.0
"""The machine that something is timed on: its CPU model, without a name of the host, and when two
are the same."""
import json
import platform
import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAME_MODEL = ("vendor_id", "cpu family", "model", "stepping")
# Names of the CPU models that tables were timed on, by family and model: guests have one model name
# for all. Those on the one with AMX hide it: 167 has none, and a smaller L2
NAMES = {("25", "1"): "Zen 3", ("25", "17"): "Zen 4", ("26", "2"): "Zen 5",
         ("6", "167"): "Intel with AMX", ("6", "85"): "Cascade Lake",
         ("6", "207"): "Emerald Rapids"}
# The frequency is measured: less than a hundredth is no other CPU model
TOLERANCE = 0.01
# QEMU's emulation, which says nothing about time, names itself so
EMULATED = "TCGTCGTCGTCG"

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


def cpu_name(of: Machine) -> str:
    """Return the name of a machine's CPU model, or its family and model if it has no name here."""
    family, model = str(of.get("cpu family")), str(of.get("model"))
    return NAMES.get((family, model), f"family {family}, model {model}")


def model_words(of: Machine) -> str:
    """Return the CPU model of a machine in words."""
    return f"{of.get('model name')}, family {of.get('cpu family')}, model {of.get('model')}"
