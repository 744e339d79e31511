# SPDX-License-Identifier: GPL-2.0
"""Real splats are found, nothing else is, and a bad line of a list is refused. No boots."""
from pathlib import Path

import pytest

from tools import group_toml
from tools.group_toml import GroupError
from tools.vm.lists import (
    REPLAY, Allow, bad_taint, find_splats, read_allow, read_ids, rename, whole_lines)

# As the kernel prints them, without the time: one for a pattern
SPLATS = {
    "warn": "WARNING: drivers/misc/lkdtm/bugs.c:112 at lkdtm_WARNING+0x14/0x20, CPU#1: sh/201",
    "bug": "kernel BUG at lib/list_debug.c:56!",
    "oops": "Oops: Oops: 0002 [#1] SMP PTI",
    "gp": "Oops: general protection fault, probably for non-canonical address 0xdead000000000108",
    "kasan": "BUG: KASAN: slab-out-of-bounds in kmalloc_oob_right+0xa4/0x2d0",
    "ubsan": "UBSAN: shift-out-of-bounds in lib/test_ubsan.c:55:14",
    "lockdep_old": "INFO: possible recursive locking detected",
    "lockdep_deadlock": " Possible unsafe locking scenario: possible irq deadlock",
    "rcu_stall": "rcu: INFO: rcu_preempt self-detected stall on CPU",
    "rcu_expedited": "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-.... } 2",
    "hung_task": "INFO: task khugepaged:34 blocked for more than 120 seconds.",
    "unable": "Unable to handle kernel paging request at virtual address ffff0008",
    "panic": "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)",
    "usercopy": "usercopy: Kernel memory exposure attempt detected from SLUB object 'x' (offset 0)",
}
QUIET = """\
Kernel command line: console=ttyS0 panic_on_warn=1 oops=panic
[    0.000000] Warning: PCIe ACS overrides enabled
[    0.100000] kasan: KernelAddressSanitizer initialized (generic)
[    0.100000] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on
[    0.200000] rcu: Preemptible hierarchical RCU implementation.
[    0.300000] virtme-ng-init: WARNING: failed to run: "systemd-tmpfiles" --create
[    1.000000] ok 3 test_bug_on_list
[    1.100000] # usercopy: pass:4 fail:0 skip:0 total:4
[    2.000000] random: crng init done"""


@pytest.mark.parametrize("name", SPLATS)
def test_splat_is_found(name: str) -> None:
    log = ["[    1.000000] before", f"[   22.000200] {SPLATS[name]}", "[   22.1] after"]
    assert find_splats(log, Allow()) == [SPLATS[name].strip()]


def test_quiet_log_has_no_splat() -> None:
    assert find_splats(QUIET.splitlines(), read_allow()) == []


@pytest.mark.parametrize("log, whole", [
    (["a", "WARNING: ker", REPLAY, "WARNING: kernel", "b"], ["a", "WARNING: kernel", "b"]),
    (["a", "b"], ["a", "b"]), (["WARN: x", "WARN: x at y"], ["WARN: x", "WARN: x at y"]),
    (["WARNING: ker", REPLAY, "other"], ["WARNING: ker", "other"]),
    (["WARNING: ker", REPLAY], ["WARNING: ker"])])
def test_replayed_message_counts_once(log: list[str], whole: list[str]) -> None:
    """The part that was cut off goes; one that is not replayed, or not as it began, stays."""
    assert whole_lines(log) == whole


def test_taint_is_named_unless_allowed() -> None:
    allow = read_allow()
    assert bad_taint(1 << 18, allow) == [] and bad_taint(1 << 18 | 1 << 9, allow) == ["WARN"]
    assert bad_taint(1 << 30, Allow()) == ["bit 30"]


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that is read in place of configs/tests.toml, alone."""
    monkeypatch.setattr(group_toml, "ROOT", tmp_path)
    (tmp_path / "configs").mkdir()
    return tmp_path / "configs/tests.toml"


@pytest.mark.parametrize("line", [
    "taint.18 = 1", "taint.18 = ''", "splat = 'foo|bar'", "taint.x = 'reason'",
    "splat.'(' = 'reason'", "other.1 = 'reason'"])
def test_bad_allow_line_is_refused(tables: Path, line: str) -> None:
    tables.write_text(f"# a comment\nallow.every.{line}\n")
    with pytest.raises(GroupError, match=r"^configs/tests.toml: allow.*: .+$"):
        read_allow()


def test_id_list(tables: Path) -> None:
    tables.write_text("# why\nids.'kunit/a.test_' = 'a/'\nids.'kunit/a.' = 'b/x_'\n")
    ids = read_ids()
    for old, new in (("kunit/a.test_one.two", "a/one.two"), ("kunit/a.one", "b/x_one"),
                     ("kunit/b.kunit/a.one", "kunit/b.kunit/a.one")):
        assert rename(ids, old) == new


@pytest.mark.parametrize("line", [
    "'kunit/a.' = ''", "'kunit/a.' = 'a/ b/'", "'kunit' = 'a/'", "'kunit/a.' = 'a'",
    "'kunit/known.more' = 'a/'"])
def test_bad_id_line_is_refused(tables: Path, line: str) -> None:
    tables.write_text(f"ids.'kunit/known.' = 'known/'\nids.{line}\n")
    with pytest.raises(GroupError, match=r"^configs/tests.toml: ids\..*: .+$"):
        read_ids()
