# SPDX-License-Identifier: GPL-2.0
"""The harness finds a mistake in each of the variants of user copies."""

import shutil
from pathlib import Path

import pytest

from selftests.preparations.harness import ROUTINES, build, failures, sweep
from selftests.queue.scratch import Sources

VARIANTS = "arch/x86/lib/copy_user_variants_64.S"


@pytest.mark.parametrize("found_by, right, wrong", [
    ("copy_user_unrolled copy_bytes", "40, 48, 56", "40, 48"),
    ("copy_user_string copy_bytes", '"-8(%rdi,%rcx)"', '"-7(%rdi,%rcx)"'),
    ("copy_user_string store_fault_residue", "leaq (%rax,%rcx,8), %rcx", "leaq (,%rcx,8), %rcx"),
], ids=("block", "last", "words"))
def test_variant_control(tmp_path: Path, found_by: str, right: str, wrong: str) -> None:
    """A mistake in one of the variants is found by the property that it breaks."""
    tree = Sources.from_env().kernel()
    variants = tree / VARIANTS
    for routine in (*ROUTINES, VARIANTS):
        shutil.copy(tree / routine, tmp_path)
    text = variants.read_text()
    assert text.count(right) == 1
    (tmp_path / variants.name).write_text(text.replace(right, wrong))
    verdicts = sweep(build(tree, tmp_path / "out", COPYLOOPS_SRC=tmp_path))[0]
    assert found_by in failures(verdicts), failures(verdicts)
