# SPDX-License-Identifier: GPL-2.0
"""Constant sizes of the booted kernel are copied by get_user() and put_user()."""
import re

import pytest

from tools import environment
from tools.figures.measure import command


@pytest.mark.parametrize(("function", "prefix"), [
    ("copy_to_const", "__put_user_"), ("copy_from_const", "__get_user_")])
def test_const_is_put_user(function: str, prefix: str) -> None:
    """A function of usercopy_faults_kunit with constant sizes of 1 to 64 bytes calls the accessors
    of 1, 2, 4 and 8 bytes."""
    text = command("objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}",
                   environment.kernel() / "vmlinux")
    called = set(re.findall(rf"\tcall +\S+ <({prefix}\w+)>", text))
    assert called == {f"{prefix}{n}" for n in (1, 2, 4, 8)}
