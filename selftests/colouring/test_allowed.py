# SPDX-License-Identifier: GPL-2.0
"""The splats of a refused user copy are allowed in the boots that ask for it only. No boots."""

from tools.vm.lists import bad_taint, find_splats, read_allow

REFUSED = """\
[    9.1] usercopy: Kernel memory overwrite attempt detected to SLUB object 'task_struct'!
[    9.2] ------------[ cut here ]------------
[    9.3] kernel BUG at mm/usercopy.c:102!
[    9.4] Oops: invalid opcode: 0000 [#1] SMP
[    9.5] CPU: 1 UID: 0 PID: 99 Comm: test_colours Tainted: G                 N 7.3.4 #1"""
OTHERS = (
    "[    2.0] usercopy: Kernel memory exposure attempt detected from SLUB object 'x' (offset 0)!",
    "[    4.1] kernel BUG at lib/list_debug.c:56!",
    "[    5.1] Oops: Oops: 0002 [#1] SMP PTI",
    "[    5.2] Oops: general protection fault, probably for non-canonical address",
)


def test_refused_user_copies_are_allowed_where_it_is_said() -> None:
    """The BUG() of a refused copy, its Oops and its taint bit; without the list each is a splat."""
    allow = read_allow("usercopy_refused")
    assert find_splats(REFUSED.splitlines(), allow) == []
    assert bad_taint(1 << 18 | 1 << 7, allow) == []
    assert len(find_splats(REFUSED.splitlines(), read_allow())) == 3
    for line in OTHERS:
        assert find_splats([line], allow)
