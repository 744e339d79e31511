# SPDX-License-Identifier: GPL-2.0
"""The workloads that the model's guest knows (Documentation/cachemodel.rst describes them), and
what a failed run raises."""
from dataclasses import dataclass, field

# What the tables are made for by default: the core of a server of 2023 (48 KiB, 12 ways) with a
# small share of an LLC.
GEOMETRY = {"l1d": "48K:12", "l2": "1M:16", "llc": "8M:16"}


class ModelError(RuntimeError):
    """A run failed, or something that it needs is missing or wrong: one line says what."""


@dataclass(frozen=True)
class Workload:
    """One workload.

    unit: what one unit of work is, counted by executions of unit_symbol or, where that is empty, by
    the guest itself; program: its file in guest/; words: its settings with their defaults, for the
    guest's kernel command line; cpus: of the guest; geometry: what differs from GEOMETRY; append:
    more kernel parameters; instructions: whether to count them, which takes time; labels: whether
    each of its labels has units, not just the one with the workload's name.
    """

    unit: str
    program: str
    words: dict[str, str]
    unit_symbol: str = ""
    cpus: int = 1
    geometry: dict[str, str] = field(default_factory=dict)
    append: tuple[str, ...] = ()
    disk: bool = False
    instructions: bool = False
    labels: bool = False


_FILES = {"writers": "4", "record": "4096", "file_kib": "16384", "fs": "ext4",
          "nontemporal": "none", "noreuse": "0", "perturb": "0", "pressure": "0"}
_RAM_DISK = ("brd.rd_nr=1", "brd.rd_size=1048576")
_RINGS = {"kinds": "pipe:futex:threads", "tasks": "4:8:12:16:32:64:128:256:512", "switches": "2000",
          "warm": "4", "perturb": "0"}

WORKLOADS = {
    "bystander": Workload(
        "walk of the bystander", "writers.c", _FILES | {"laps": "8", "bystander_kib": "4096"},
        cpus=5, append=_RAM_DISK, disk=True),
    "calibrate": Workload(
        "", "calibrate.c", {}, cpus=2, append=("maxcpus=1",),
        geometry={"l1d": "32K:8", "l2": "256K:8", "llc": "1M:16"}),
    "crossing": Workload("context switch", "ring.c", _RINGS | {"tasks": "2:4:8:16:32"},
                         "__switch_to_asm", cpus=2, labels=True),
    "ioctl": Workload("ioctl", "calls.c", {"calls": "100"}, instructions=True),
    "leader": Workload("round", "leader.c", {"rounds": "500", "warm": "50", "perturb": "0"},
                       cpus=5),
    "pread": Workload("system call", "calls.c", {"calls": "20"}, instructions=True),
    "reads": Workload("system call", "calls.c", {"calls": "20", "thrash_kib": "2048"}),
    "ring": Workload(
        "context switch", "ring.c",
        {"kind": "pipe", "tasks": "64", "rounds": "50", "warm": "5", "perturb": "0"},
        "__switch_to_asm"),
    "rings": Workload("context switch", "ring.c", _RINGS, "__switch_to_asm", labels=True),
    "syscalls": Workload("system call", "calls.c", {"reps": "20", "thrash_kib": "2048"}),
    "writers": Workload("record", "writers.c", _FILES, cpus=4, append=_RAM_DISK, disk=True),
    "writes": Workload(
        "system call", "writers.c", {"calls": "100", "fs": "ext4", "nontemporal": "none"},
        append=_RAM_DISK, disk=True, instructions=True),
}

# Kinds of data, as tags.h numbers them
KINDS = {"0": "other", "1": "task_struct", "2": "kernel stack",
         "3": "page cache", "4": "user buffer"}
# Kinds of objects beside these
OBJECTS = {"5": "mm_struct", "6": "files_struct", "7": "signal_struct"}
