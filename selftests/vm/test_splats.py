# SPDX-License-Identifier: GPL-2.0
"""The scanner finds real splats, takes nothing else for one, and the lists
refuse a line without a reason. No boots."""
from pathlib import Path

import pytest

from selftests.vm.lists import Allow, ListError, Skip, read_allow, read_ids, read_skip
from selftests.vm.splats import REPLAY, bad_taint, find_splats, whole_lines

HERE = Path(__file__).resolve().parent

SPLATS = {
    "warn": """\
[    9.214321] ------------[ cut here ]------------
[    9.214400] WARNING: drivers/misc/lkdtm/bugs.c:112 at lkdtm_WARNING+0x14/0x20, CPU#1: sh/201
[    9.214512] Modules linked in:""",
    "warn_old": """\
[    9.214400] WARNING: CPU: 1 PID: 201 at drivers/misc/lkdtm/bugs.c:112 lkdtm_WARNING+0x14/0x20""",
    "bug": """\
[    4.100000] kernel BUG at lib/list_debug.c:56!
[    4.100001] Oops: invalid opcode: 0000 [#1] SMP""",
    "oops": """\
[    5.104201] BUG: kernel NULL pointer dereference, address: 0000000000000000
[    5.104333] #PF: supervisor write access in kernel mode
[    5.104402] Oops: Oops: 0002 [#1] SMP PTI""",
    "gp": """\
[    5.000001] Oops: general protection fault, probably for non-canonical address 0xdead000000000108: 0000 [#1] SMP""",
    "kasan": """\
[   12.310110] ==================================================================
[   12.310912] BUG: KASAN: slab-out-of-bounds in kmalloc_oob_right+0xa4/0x2d0
[   12.311400] Write of size 1 at addr ffff888003a1d273 by task kunit_try_catch/96""",
    "kmsan": """\
[   12.3] BUG: KMSAN: uninit-value in n_tty_receive_buf_standard+0x1a3/0x400""",
    "kcsan": """\
[   12.3] BUG: KCSAN: data-race in tick_nohz_stop_tick / tick_sched_timer""",
    "ubsan": """\
[    3.871012] UBSAN: shift-out-of-bounds in lib/test_ubsan.c:55:14
[    3.871100] shift exponent -1 is negative""",
    "lockdep": """\
[   22.000100] ======================================================
[   22.000200] WARNING: possible circular locking dependency detected
[   22.000300] 7.3.4 #1 Not tainted""",
    "lockdep_old": """\
[   22.000200] INFO: possible recursive locking detected""",
    "lockdep_deadlock": """\
[   22.000200]  Possible unsafe locking scenario: possible irq deadlock""",
    "rcu_usage": """\
[    1.000200] WARNING: suspicious RCU usage
[    1.000300] kernel/sched/core.c:8600 Illegal context switch in RCU read-side critical section!""",
    "rcu_stall": """\
[   45.120011] rcu: INFO: rcu_preempt self-detected stall on CPU
[   45.120100] rcu: \t1-....: (21000 ticks this GP) idle=5d1c/1/0x4000000000000000""",
    "rcu_stall_other": """\
[   45.120011] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:""",
    "rcu_expedited": """\
[   45.1] rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-.... } 21000 jiffies s: 85""",
    "hung_task": """\
[  242.661012] INFO: task khugepaged:34 blocked for more than 120 seconds.
[  242.661100]       Not tainted 7.3.4 #1""",
    "soft_lockup": """\
[   48.020000] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [cat:77]""",
    "unable": """\
[    1.0] Unable to handle kernel paging request at virtual address ffff0008""",
    "panic": """\
[    2.0] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)""",
    "usercopy": """\
[    2.0] usercopy: Kernel memory exposure attempt detected from SLUB object 'x' (offset 0, size 9)!""",
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
    assert find_splats(SPLATS[name].splitlines(), Allow())


def test_first_splat_line_is_the_reason() -> None:
    found = find_splats(SPLATS["hung_task"].splitlines(), Allow())
    assert found == ["INFO: task khugepaged:34 blocked for more than "
                     "120 seconds."]


def test_quiet_log_has_no_splat() -> None:
    allow = read_allow(HERE / "allow.txt")
    assert find_splats(QUIET.splitlines(), allow) == []


def test_replayed_message_counts_once() -> None:
    """The beginning that was cut off goes; one that is not replayed, or not as it began, stays."""
    assert whole_lines(["a", "WARNING: ker", REPLAY, "WARNING: kernel", "b"]) == ["a", "WARNING: kernel", "b"]
    for log in (["a", "b"], ["WARNING: x", "WARNING: x at y"]):
        assert whole_lines(log) == log
    assert whole_lines(["WARNING: ker", REPLAY, "other"]) == ["WARNING: ker", "other"]
    assert whole_lines(["WARNING: ker", REPLAY]) == ["WARNING: ker"]


def test_taint_is_named_unless_allowed() -> None:
    allow = read_allow(HERE / "allow.txt")
    assert bad_taint(1 << 18, allow) == []
    assert bad_taint(1 << 18 | 1 << 9, allow) == ["WARN"]
    assert bad_taint(1 << 30, Allow()) == ["bit 30"]


@pytest.mark.parametrize("line", [
    "taint | 18", "taint | 18 | ", "splat | foo|bar", "taint | x | reason",
    "splat | ( | reason", "other | 1 | reason"])
def test_bad_allow_line_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "allow.txt"
    path.write_text("# a comment\n" + line + "\n")
    with pytest.raises(ListError, match="allow.txt:2: "):
        read_allow(path)


def test_skip_list(tmp_path: Path) -> None:
    path = tmp_path / "skip.txt"
    path.write_text("timers/rtcpie* | no RTC in the guest\n")
    skip = read_skip(path)
    assert skip.reason("timers/rtcpie.read") == "no RTC in the guest"
    assert skip.reason("timers/posix_timers") is None
    path.write_text("timers/rtcpie\n")
    with pytest.raises(ListError):
        read_skip(path)


def test_id_list(tmp_path: Path) -> None:
    path = tmp_path / "ids.txt"
    path.write_text("# why\nkunit/a.test_ a/\nkunit/a. b/x_\n")
    ids = read_ids(path)
    assert ids.rename("kunit/a.test_one.two") == "a/one.two"
    assert ids.rename("kunit/a.one") == "b/x_one"
    assert ids.rename("kunit/b.kunit/a.one") == "kunit/b.kunit/a.one"


@pytest.mark.parametrize("line", [
    "kunit/a.", "kunit/a. a/ b/", "kunit a/", "kunit/a. a", "kunit/known.more a/"])
def test_bad_id_line_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "ids.txt"
    path.write_text("kunit/known. known/\n" + line + "\n")
    with pytest.raises(ListError, match="ids.txt:2: "):
        read_ids(path)


def test_lists_of_the_repository_are_well_formed() -> None:
    for path in HERE.parent.glob("*/allow*.txt"):
        read_allow(path)
    read_ids(*HERE.parent.glob("*/ids.txt"))
    assert isinstance(read_skip(HERE / "skip.txt"), Skip)
