# SPDX-License-Identifier: GPL-2.0
"""What the benchmark of user copies calls returns as its block says."""

import re
from pathlib import Path

import pytest

from selftests.usercopy import bench
from tools.figures.measure import command
from tools.figures.returns import THUNKS
from tools.tree.sources import Sources

FUNCTIONS = ("none", "fsrm", "erms", "movsq", "unrolled", "string", "rep_movs_alternative_unrolled",
             "copy_user_string", "rep_movs_alternative_erms", "rep_movs_alternative_movsq")


def returns_of(program: Path) -> dict[str, set[str]]:
    """Return how each function of a program returns: "ret", "thunk" or both."""
    found: dict[str, set[str]] = {}
    for text in command("objdump", "-d", "--no-show-raw-insn", program).split("\n\n"):
        if name := re.search(r"^[0-9a-f]+ <(\w+)>:$", text, re.M):
            found[name[1]] = {
                "thunk" if "thunk" in word else "ret"
                for word in re.findall(r"\t(ret|jmp +\S+ <__x86_return_thunk>)", text)}
    return found


@pytest.mark.parametrize("how", ["ret", *THUNKS])
def test_baseline_returns(tmp_path: Path, how: str) -> None:
    """All that stands for a function of the kernel returns by the mitigation's thunk where there is
    one; fsrm_ret never does."""
    found = returns_of(bench.build(Sources.from_env().kernel(), tmp_path, how))
    expected = {"ret"} if how == "ret" else {"thunk"}
    assert {name: found[name] for name in FUNCTIONS} == dict.fromkeys(FUNCTIONS, expected)
    assert found["fsrm_ret"] == {"ret"}
