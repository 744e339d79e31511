# SPDX-License-Identifier: GPL-2.0
"""Finds splats in a kernel log and names unexpected taint bits."""
from __future__ import annotations

import re
from collections.abc import Iterable

from selftests.vm.lists import Allow

SPLATS = re.compile("|".join((
    r"\bWARNING: ",
    r"\bBUG: ",
    r"kernel BUG at ",
    r"\bOops\b",
    r"general protection fault",
    r"double fault",
    r"stack segment fault",
    r"\b(KASAN|KMSAN|KCSAN|KFENCE|UBSAN): ",
    r"possible (recursive|circular) locking",
    r"possible .*deadlock",
    r"\bINFO: possible",
    r"INFO: trying to register non-static key",
    r"suspicious RCU usage",
    r"Voluntary context switch within RCU",
    r"DEBUG_LOCKS_WARN_ON",
    r"soft lockup",
    r"hard LOCKUP",
    r"INFO: task .* blocked",
    r"(rcu|RCU).* (self-)?detected( expedited)? stalls?",
    r"rcu_\w+ kthread starved",
    r"Unable to handle",
    r"unable to handle",
    r"Kernel panic",
    r"usercopy: Kernel memory (exposure|overwrite) attempt",
    r"detected buffer overflow",
    r"stack-protector: Kernel stack is corrupted",
    r"kernel tried to execute",
    r"CFI failure",
    r"Missing ENDBR",
    r"Bad page (state|map)",
    r"kmemleak: .*suspected memory leak",
    r"irq \d+: nobody cared",
)))

TAINTS = ("PROPRIETARY_MODULE", "FORCED_MODULE", "CPU_OUT_OF_SPEC",
          "FORCED_RMMOD", "MACHINE_CHECK", "BAD_PAGE", "USER", "DIE",
          "OVERRIDDEN_ACPI_TABLE", "WARN", "CRAP", "FIRMWARE_WORKAROUND",
          "OOT_MODULE", "UNSIGNED_MODULE", "SOFTLOCKUP", "LIVEPATCH", "AUX",
          "RANDSTRUCT", "TEST", "FWCTL")

TIMESTAMP = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\](\[ *[TC]\d+\])? ?")


REPLAY = "** replaying previous printk message **"


def whole_lines(log: Iterable[str]) -> list[str]:
    """Return a log without the beginnings of messages that the kernel printed again, whole, after a mark."""
    out: list[str] = []
    partial = None
    for line in log:
        if line == REPLAY and out:
            partial = out.pop()
        elif partial is not None and not line.startswith(partial):
            out += [partial, line]
            partial = None
        else:
            out.append(line)
            partial = None
    return out if partial is None else [*out, partial]


def find_splats(log: Iterable[str], allow: Allow) -> list[str]:
    """Return the lines of a log that stand for a splat, without time stamps.

    Kernel and virtme-ng lines count alike; lines on the allow-list do not.
    """
    return [TIMESTAMP.sub("", line).strip() for line in log
            if SPLATS.search(line) and not allow.splat(line)]


def bad_taint(value: int, allow: Allow) -> list[str]:
    """Return the names of the bits set in /proc/sys/kernel/tainted's value
    that the allow-list does not carry.
    """
    bits = [bit for bit in range(value.bit_length())
            if value >> bit & 1 and bit not in allow.taints]
    return [TAINTS[bit] if bit < len(TAINTS) else f"bit {bit}" for bit in bits]
