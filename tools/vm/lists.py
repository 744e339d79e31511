# SPDX-License-Identifier: GPL-2.0
"""The lists of allowed splats and of ids, and what in a kernel log is a splat or bad taint."""
import re
from collections.abc import Iterable

from tools.group_toml import Allow, GroupError, read_all

# What an id may begin with: its part, and a beginning of the test's name
PREFIX = re.compile(r"[\w.-]+/[\w.,:=+@-]*")
SPLATS = re.compile(
    r"\bWARNING: |\bBUG: |kernel BUG at |\bOops\b|general protection fault|double fault|"
    r"stack segment fault|\b(KASAN|KMSAN|KCSAN|KFENCE|UBSAN): |"
    r"possible (recursive|circular) locking|possible .*deadlock|\bINFO: possible|"
    r"INFO: trying to register non-static key|DEBUG_LOCKS_WARN_ON|"
    r"suspicious RCU usage|Voluntary context switch within RCU|"
    r"(rcu|RCU).* (self-)?detected( expedited)? stalls?|rcu_\w+ kthread starved|"
    r"soft lockup|hard LOCKUP|INFO: task .* blocked|[Uu]nable to handle|Kernel panic|"
    r"usercopy: Kernel memory (exposure|overwrite) attempt|detected buffer overflow|"
    r"stack-protector: Kernel stack is corrupted|kernel tried to execute|CFI failure|"
    r"Missing ENDBR|Bad page (state|map)|kmemleak: .*suspected memory leak|"
    r"irq \d+: nobody cared")
TAINTS = (
    "PROPRIETARY_MODULE FORCED_MODULE CPU_OUT_OF_SPEC FORCED_RMMOD MACHINE_CHECK BAD_PAGE USER DIE "
    "OVERRIDDEN_ACPI_TABLE WARN CRAP FIRMWARE_WORKAROUND OOT_MODULE UNSIGNED_MODULE SOFTLOCKUP "
    "LIVEPATCH AUX RANDSTRUCT TEST FWCTL").split()
TIMESTAMP = re.compile(r"^(<\d+>)?\[ *\d+\.\d+\](\[ *[TC]\d+\])? ?")
REPLAY = "** replaying previous printk message **"


def read_allow(*names: str) -> Allow:
    """Return what every boot may show, and what the lists allow.NAME allow; raises GroupError."""
    allow, files = Allow(), read_all().values()
    for name in ("every", *names):
        found = [file.allow[name] for file in files if name in file.allow]
        if len(found) != 1:
            raise GroupError(f"{len(found)} tables allow.{name}, one expected")
        allow.splat.update(found[0].splat)
        allow.taint.update(found[0].taint)
    return allow


def read_ids() -> dict[str, str]:
    """Return what beginnings of ids become, by the beginning; raises GroupError."""
    ids: dict[str, str] = {}
    for path, file in read_all().items():
        for old, new in file.ids.items():
            place = f"{path.parent.name}/{path.name}: ids.{old}"
            if not PREFIX.fullmatch(old) or not PREFIX.fullmatch(new):
                raise GroupError(f"{place}: two beginnings of ids (part/test_name) expected")
            if rename(ids, old) != old:
                raise GroupError(f"{place}: an earlier line renames it")
            ids[old] = new
    return ids


def rename(ids: dict[str, str], test_id: str) -> str:
    """Return the id that counts for the one a test came with: by the first one that fits."""
    old = next((old for old in ids if test_id.startswith(old)), "")
    return ids.get(old, "") + test_id.removeprefix(old)


def whole_lines(log: Iterable[str]) -> list[str]:
    """Return a log without the parts of messages that were printed again, whole, after REPLAY."""
    out: list[str] = []
    partial = None
    for line in log:
        if line == REPLAY and out:
            partial = out.pop()
            continue
        if partial is not None and not line.startswith(partial):
            out.append(partial)
        out.append(line)
        partial = None
    return out if partial is None else [*out, partial]


def find_splats(log: Iterable[str], allow: Allow) -> list[str]:
    """Return the lines of a log that are splats and not allowed, without time stamps."""
    return [TIMESTAMP.sub("", line).strip() for line in log if SPLATS.search(line)
            and not any(re.search(pattern, line) for pattern in allow.splat)]


def bad_taint(value: int, allow: Allow) -> list[str]:
    """Return the names of the bits of /proc/sys/kernel/tainted that are not allowed."""
    return [TAINTS[bit] if bit < len(TAINTS) else f"bit {bit}"
            for bit in range(value.bit_length())
            if value >> bit & 1 and str(bit) not in allow.taint]
