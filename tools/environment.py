# SPDX-License-Identifier: GPL-2.0
"""Where a run works. Nothing else reads these variables; the defaults are those of tools/lib.sh.

BUILD    the directory of all that is made; default build
KDIR     the kernel tree; default BUILD/linux
CACHE    what other clones use, too; default ~/.cache/cache-footprint
QUEUE    the directory of the patches; default patches
GROUP    groups, whose kernels and results have a directory of their own; JOB a slow job,
         its results
RESULTS  another directory of results
JOBS     how many programs run at a time; default all processors
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def path_of(name: str, default: Path) -> Path:
    """Return the absolute path that a variable has, or the default."""
    return Path(os.path.abspath(os.environ.get(name) or default))


def is_given(name: str) -> bool:
    """Return whether a variable has a value."""
    return bool(os.environ.get(name))


def build() -> Path:
    """Return the directory of all that is made."""
    return path_of("BUILD", ROOT / "build")


def tree() -> Path:
    """Return the kernel tree."""
    return path_of("KDIR", build() / "linux")


def patches() -> Path:
    """Return the directory of the patches; the series file is there or above it."""
    return path_of("QUEUE", ROOT / "patches")


def chosen() -> list[str]:
    """Return the words of GROUP=."""
    return os.environ.get("GROUP", "").split()


def of_groups(name: str) -> Path:
    """Return the directory of that name for all groups, or for those of GROUP=."""
    return build() / name / "+".join(sorted(set(chosen())))


def kernel(name: str = "vm") -> Path:
    """Return the output directory of a kernel; vm is the plain one."""
    return of_groups("out") / name


def results() -> Path:
    """Return the directory of the results."""
    job = os.environ.get("JOB")
    return path_of("RESULTS", of_groups("results") / (f"job-{job}" if job else ""))


def cache() -> Path:
    """Return the project's directory in the user's cache."""
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return path_of("CACHE", Path(user) / "cache-footprint")


def jobs() -> int:
    """Return how many programs run at a time."""
    return int(os.environ.get("JOBS") or os.cpu_count() or 1)
