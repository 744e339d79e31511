# SPDX-License-Identifier: GPL-2.0
"""The workloads that the model's guest knows."""
from __future__ import annotations

from dataclasses import dataclass, field

# What the tables are made for unless told otherwise: the core of a server of
# 2023 (48 KiB, 12 ways) with a small share of an LLC.
GEOMETRY = {"l1d": "48K:12", "l2": "1M:16", "llc": "8M:16", "policy": "lru", "nt": "evict"}


@dataclass(frozen=True)
class Workload:
    """One workload.

    words: its settings with their defaults, handed to the guest on the kernel command line; cpus:
    of the guest; geometry: what differs from GEOMETRY; unit: what one unit of work is, counted by
    executions of unit_symbol or, where that is empty, by the guest itself; append: more kernel
    parameters; instructions: whether to count them, which takes time; labels: whether each of its
    labels has units, not just the one that is called as the workload; program: its file in guest/.
    """

    about: str
    words: dict[str, str]
    unit: str
    program: str
    unit_symbol: str = ""
    cpus: int = 1
    geometry: dict[str, str] = field(default_factory=dict)
    append: tuple[str, ...] = ()
    disk: bool = False
    instructions: bool = False
    labels: bool = False


WORKLOADS = {
    "bystander": Workload(
        "somebody who reads memory of his own now and then while others write files",
        {"writers": "4", "record": "4096", "file_kib": "16384", "fs": "ext4",
         "nontemporal": "none", "laps": "8", "bystander_kib": "4096", "perturb": "0"},
        "walk of the bystander", "writers.c", cpus=5, disk=True,
        append=("brd.rd_nr=1", "brd.rd_size=1048576")),
    "calibrate": Workload(
        "access patterns whose misses arithmetic tells", {}, "", "calibrate.c", cpus=2,
        geometry={"l1d": "32K:8", "l2": "256K:8", "llc": "1M:16"},
        append=("maxcpus=1",)),
    "ioctl": Workload(
        "ioctls that copy 8 bytes in and 8 bytes out, twice, two of a terminal, two of vgem",
        {"calls": "100"}, "ioctl", "ioctls.c", instructions=True),
    "reads": Workload(
        "system calls that read variables, as loads and as immediate values",
        {"calls": "20", "thrash_kib": "2048"}, "system call", "reads.c"),
    "ring": Workload(
        "tasks on one CPU pass a token on, through pipes or by futexes",
        {"kind": "pipe", "tasks": "64", "rounds": "50", "warm": "5", "perturb": "0", "churn": "0"},
        "context switch", "ring.c", "__switch_to_asm"),
    "rings": Workload(
        "rings of several kinds and sizes one after the other, a label each",
        {"kinds": "pipe:futex:threads", "tasks": "4:8:12:16:32:64:128:256:512", "switches": "2000", "warm": "4",
         "perturb": "0", "churn": "0"},
        "context switch", "ring.c", "__switch_to_asm", labels=True),
    "syscalls": Workload(
        "system calls of everyday programs",
        {"reps": "20", "thrash_kib": "2048"}, "system call", "syscalls.c"),
    "writers": Workload(
        "writers that each fill a new file of their own",
        {"writers": "4", "record": "4096", "file_kib": "16384", "fs": "ext4",
         "nontemporal": "none", "perturb": "0"},
        "record", "writers.c", cpus=4, disk=True,
        append=("brd.rd_nr=1", "brd.rd_size=1048576")),
}

# Kinds of data, as tags.h numbers them
KINDS = {"0": "other", "1": "task_struct", "2": "kernel stack",
         "3": "page cache", "4": "user buffer"}
