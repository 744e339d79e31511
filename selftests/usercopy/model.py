# SPDX-License-Identifier: GPL-2.0
"""The table of user copies: what ioctls and system calls execute and access under each word of
x86_usercopy=, and on a kernel where small sizes are calls.

`make model-tables GROUP=usercopy` makes Documentation/results/usercopy/model.rst, of two kernels
with the driver vgem.
"""
from __future__ import annotations

from typing import Any

from tools.model import tables
from tools.model.published import Published, literal, result_of, wrapped
from tools.figures.store import Table

# Name in the table, and the kernel parameters; the first is without X86_USERCOPY_CONST
CALLS = "calls"
BOOTS = {
    CALLS: [],
    "inline": [],
    "inline, FSRM": ["setcpuid=fsrm"],
    "unrolled": ["x86_usercopy=unrolled"],
    "string": ["x86_usercopy=string"],
    "fast_string": ["x86_usercopy=fast_string"],
}
IOCTLS = {
    "nothing": "copies nothing",
    "called": "8 bytes in and out, twice, _copy_from_user() and _copy_to_user()",
    "constant": "the same, a constant size",
    "set_winsize": "TIOCSWINSZ (8 bytes in), constant",
    "get_winsize": "TIOCGWINSZ (8 bytes out), constant",
    "gem_flink": "DRM_IOCTL_GEM_FLINK of vgem (8 bytes in and out), sized",
    "get_cap": "DRM_IOCTL_GET_CAP of vgem (16 bytes in and out), sized",
    "sigprocmask": "rt_sigprocmask() (8 bytes in and out), constant",
    "clock_getres": "clock_getres() (16 bytes out), constant",
    "epoll_ctl": "epoll_ctl() (12 bytes in), constant, fails",
    "sigaltstack": "sigaltstack() (24 bytes out), constant",
    "sigaction": "rt_sigaction() (32 bytes out), constant",
}


def cell_name(boot: str) -> str:
    """Return the name of a boot's cell."""
    return "ioctl-" + boot.replace(", ", "-").lower()


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model run."""
    return {cell_name(boot): ["ioctl", *(f"--append={word}" for word in append)]
            for boot, append in BOOTS.items()}


def kept(_name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the page needs of a boot: instructions and accesses of each label."""
    return {ioctl: {"units": label["units"], "instructions": label["executed"]["instructions"],
                    "accesses": label["loads"] + label["stores"]}
            for ioctl, label in result["labels"].items()}


def per_call(table: Table, boot: str, ioctl: str) -> tuple[float, float]:
    """Return instructions and accesses of one call, from and back to user mode."""
    cell = table["cells"][f"{cell_name(boot)}/{ioctl}"]
    return cell["instructions"] / cell["units"], cell["accesses"] / cell["units"]


def text(table: Table, section: str) -> tuple[int, int]:
    """Return the bytes of a section of the kernel where small sizes are calls, and how much it is
    larger where they are inline."""
    calls = table["other kernels"]["vgem-calls"]["bytes"][section]
    return calls, table["kernel"]["bytes"][section] - calls


def page(table: Table) -> str:
    """Return the page, without its head: the table, with what it counts under it."""
    first = result_of(table, cell_name("inline"))
    rows = [["instructions / accesses of a call", *BOOTS]]
    for ioctl, about in IOCTLS.items():
        calls = [per_call(table, boot, ioctl) for boot in BOOTS]
        rows.append([about, *("{:.0f} / {:.0f}".format(*call) for call in calls)])
    saved = (
        "The first column is a kernel without X86_USERCOPY_CONST. A repeated instruction counts "
        "each time it is repeated, with an access to each side: rep movsb of 8 bytes is 8 or 9 of "
        "them, so that its columns say nothing of speed.")
    grown = "Small sizes inline, bytes of vmlinux, .text in pages of 4 KiB: " + ", ".join(
        "{} {} {:+d}".format(section, *text(table, section))
        for section in table["kernel"]["bytes"])
    head = tables.headline(first).split("\n", 1)[1]
    return literal(f"Ioctls and system calls, {first['words']['calls']} of each, from and back to "
                   f"user mode\n{head}\n\n{tables.columns(rows)}\n\n{wrapped(saved)}\n\n"
                   f"{wrapped(grown)}")


PUBLISHED = Published(
    "usercopy", cells(), kept, ("X86_USERCOPY_VARIANTS", "X86_USERCOPY_CONST", "DRM_VGEM"),
    ("small", "base", "all-on", "vgem"), "vgem",
    {"vgem-calls": ("small", "base", "all-on", "vgem", "calls")}, {cell_name(CALLS): "vgem-calls"})
