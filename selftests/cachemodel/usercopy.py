#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The table of user copies: what ioctls execute and access under each word of x86_usercopy=.

  usercopy.py count OPTION...   boots for all cells, two at a time (options of
                                model.py run); cells that are there are kept
  usercopy.py tables            makes Documentation/results/usercopy.rst

The kernel has the series' options and the driver vgem. Results are kept in
Documentation/results/usercopy/*.json.

Exit status: 0 done, 1 a boot failed, 2 usage, 130 interrupted.
"""
from __future__ import annotations

import sys
from pathlib import Path

import tables
from published import RESULTS, Published, literal, main, wrapped

# Name in the table, and the kernel parameters
BOOTS = {
    "auto": [],
    "auto, FSRM": ["setcpuid=fsrm"],
    "unrolled": ["x86_usercopy=unrolled"],
    "string": ["x86_usercopy=string"],
    "fast_string": ["x86_usercopy=fast_string"],
}
IOCTLS = {
    "nothing": "copies nothing",
    "called": "8 bytes in and out, twice, calls",
    "constant": "the same, a constant size in place",
    "sized": "the same, sizes of _IOC_SIZE()",
    "set_winsize": "TIOCSWINSZ (8 bytes in), constant",
    "get_winsize": "TIOCGWINSZ (8 bytes out), constant",
    "gem_flink": "DRM_IOCTL_GEM_FLINK of vgem (8 bytes in and out), sized",
    "get_cap": "DRM_IOCTL_GET_CAP of vgem (16 bytes in and out), sized",
}


def cell_name(boot: str) -> str:
    """Return the name of a boot's cell."""
    return "ioctl-" + boot.replace(", ", "-").lower()


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model.py run."""
    return {cell_name(boot): ["ioctl", *(f"--append={word}" for word in append)] for boot, append in BOOTS.items()}


PUBLISHED = Published(RESULTS / "usercopy", cells(), "usercopy.py", (), varying=("append",))


def per_call(boot: str, ioctl: str) -> tuple[float, float]:
    """Return instructions and accesses of one ioctl, system call included."""
    label = PUBLISHED.kept(cell_name(boot))["labels"][ioctl]
    return (label["executed"]["instructions"] / label["units"], (label["loads"] + label["stores"]) / label["units"])


def ioctl_table() -> str:
    """Return the table, with what the original said under it."""
    first = PUBLISHED.kept(cell_name("auto"))
    rows = [["instructions / accesses of an ioctl", *BOOTS]]
    for ioctl, about in IOCTLS.items():
        rows.append([about, *("{:.0f} / {:.0f}".format(*per_call(boot, ioctl)) for boot in BOOTS)])
    called, constant = (per_call("auto", name) for name in ("called", "constant"))
    saved = (f"A constant size in place of calls (auto) saves {called[0] - constant[0]:.0f} of {called[0]:.0f} instructions "
             f"({100 * (1 - constant[0] / called[0]):.0f} %) and {called[1] - constant[1]:.0f} of {called[1]:.0f} accesses; "
             "the original's ioctl, a drm_ioctl() whose sizes are no constants, was 20 % faster with inlined get_user() and "
             "put_user() in the driver and 10 % faster with the unrolled copy in drm_ioctl() itself. A repeated instruction "
             "counts each time it is repeated, with an access to each side: rep movsb of 8 bytes is 8 or 9 of them, "
             "so that its column says nothing of speed.")
    head = tables.headline(first).split("\n", 1)[1]
    return literal(f"Ioctls, {first['words']['calls']} of each, from and back to user mode\n{head}\n\n{tables.columns(rows)}\n\n"
                   + wrapped(saved))


def pages() -> dict[Path, str]:
    """Return the file that is made of the results, with its text.

    Raises OSError for a cell that is missing, ValueError for one that is of
    another kernel than the others.
    """
    PUBLISHED.check_one_kernel()
    return {RESULTS / "usercopy.rst": PUBLISHED.note() + ioctl_table()}


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", PUBLISHED, pages))
