# SPDX-License-Identifier: GPL-2.0
"""Constant sizes of the booted kernel are copied by get_user() and put_user()."""
import os
import re
from pathlib import Path

import pytest

from tools.bench.measure import command


@pytest.mark.parametrize(("function", "prefix", "other"), [
    ("copy_to_const", "__put_user_", "_copy_to_user"),
    ("copy_from_const", "__get_user_", "_copy_from_user")])
def test_const_is_put_user(function: str, prefix: str, other: str) -> None:
    """A function of usercopy_faults_kunit with constant sizes of 1 to 64 bytes calls the accessor of 1,
    2, 4 and 8 bytes, and no other accessor."""
    text = command("objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}",
                   Path(os.environ["CF_OUT"]) / "vmlinux")
    called = set(re.findall(r"\tcall +\S+ <(\w+)>", text))
    assert {name for name in called if "_user" in name} == {other, *(f"{prefix}{n}" for n in (1, 2, 4, 8))}
