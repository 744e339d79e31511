# SPDX-License-Identifier: GPL-2.0
"""The harness finds a mistake in copy_user_string()."""

from pathlib import Path

import pytest

from selftests.preparations.harness import failures_with
from tools.tree.sources import Sources

STRING = "copy_user_string"
MISTAKES = {
    "last": (f"{STRING} copy_bytes", "movq %rax, -8(%rdi,%rcx)", "movq %rax, -7(%rdi,%rcx)"),
    "words": (f"{STRING} store_fault_residue", "leaq (%rax,%rcx,8), %rcx",
              "leaq (,%rcx,8), %rcx"),
}
# By make test-full JOB=mutants
MORE = {
    "small": (f"{STRING} copy_bytes", "cmpq $8, %rcx\n\tjb .Lbytes",
              "cmpq $9, %rcx\n\tja .Lbytes"),
    "rest": (f"{STRING} copy_bytes", "andl $7, %eax", "andl $3, %eax"),
    "fixup": (f"{STRING} load_fault_residue", ".Lwords, .Lfault", ".Lwords, .Lbytes"),
    "count": (f"{STRING} large_count_bytes", "shrq $3, %rcx", "shrl $3, %ecx"),
}


@pytest.mark.parametrize("found_by, right, wrong", [
    *(pytest.param(*MISTAKES[name], id=name) for name in MISTAKES),
    *(pytest.param(*MORE[name], id=name, marks=pytest.mark.full) for name in MORE)])
def test_variant_control(tmp_path: Path, found_by: str, right: str, wrong: str) -> None:
    """A mistake is found by the property that it breaks."""
    failed = failures_with(Sources.from_env().kernel(), f"arch/x86/lib/{STRING}_64.S", tmp_path,
                           right, wrong)
    assert found_by in failed, failed
