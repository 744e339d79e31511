# SPDX-License-Identifier: GPL-2.0
"""What a workload of the model's guest is, and what a failed run raises."""
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
    the guest itself; program: its source, from the repository; words: its settings with their
    defaults, for the guest's kernel command line; cpus: of the guest; geometry: what differs from
    GEOMETRY; append: more kernel parameters; instructions: whether to count them, which takes time;
    labels: whether each of its labels has units, not just the one with the workload's name.
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


# Kinds of data, as tags.h numbers them
KINDS = {"0": "other", "1": "task_struct", "2": "kernel stack",
         "3": "page cache", "4": "user buffer"}
# Kinds of objects beside these
OBJECTS = {"5": "mm_struct", "6": "files_struct", "7": "signal_struct"}
