# SPDX-License-Identifier: GPL-2.0
"""memcpy() and rep_movs_alternative() as Zen 3 and Zen 4 have them copy what they should, and a
mistake in either is found."""

import subprocess
from pathlib import Path

import pytest

from selftests.preparations.harness import failures_with, mistake
from tools import environment
from tools.figures.measure import LOOPS, assemble, command

HERE = Path(__file__).resolve().parent
MEMCPY, USER = "arch/x86/lib/memcpy_64.S", "arch/x86/lib/copy_user_64.S"
# What the stub headers of copyloops do not have
STUBS = ("SYM_FUNC_START_LOCAL(name)=name:", "SYM_FUNC_ALIAS_MEMFUNC(name,of)=",
         "SYM_PIC_ALIAS(name)=")
CPUS = {"zen3": "X86_FEATURE_FSRM | X86_FEATURE_ZEN3",
        "zen4": "X86_FEATURE_FSRM | X86_FEATURE_ZEN4",
        "other": "X86_FEATURE_FSRM"}
MIN_CASES = 500_000


def tree() -> Path:
    """Return the pushed tree; the test is skipped without the kselftest."""
    found = environment.tree()
    if not (found / LOOPS).is_dir():
        pytest.skip("the tree has no kselftest x86/copyloops, whose stub headers are needed")
    return found


def compare(directory: Path, file: Path, cpu: str) -> subprocess.CompletedProcess[str]:
    """Run memcpy.c with a file as it is on a CPU."""
    defines = ["-DCONFIG_X86_MOVSB_DISTANCE", f"-DCPU_HAS={CPUS[cpu]}",
               *(f"-D{stub}" for stub in STUBS)]
    objects = assemble(tree(), directory, ((str(file), f"{cpu}.o", defines),))
    program = directory / cpu
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "memcpy.c", *objects)
    return subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)


@pytest.mark.parametrize("cpu", CPUS)
def test_memcpy_matches(tmp_path: Path, cpu: str) -> None:
    """Every size, distance and alignment is copied, and nothing beside it, on each CPU."""
    done = compare(tmp_path, tree() / MEMCPY, cpu)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > MIN_CASES, done.stdout


@pytest.mark.parametrize("right, wrong", [
    ("movq %r11,\t3*8(%rdi)\n\taddq", "movq %r10,\t3*8(%rdi)\n\taddq"),
    ("addq $0x20, %rdi\n\tsubq", "addq $0x18, %rdi\n\tsubq"),
    ("/* %rdx is -32 to -1: the last 32 bytes, some of them again */\n",
     "cmpq $-32, %rdx\n\tje 1f\n\tmovb $0, (%rdi, %rdx)\n\tRET\n1:\n"),
    ("jb .Lmovsb\n\tcmpq $0x20, %rdx\n\tjb memcpy_orig\n", "jb .Lmovsb\n"),
    ("jb memcpy_orig\n\n\tmovq %rdi, %rax\n", "jb memcpy_orig\n\n")],
    ids=["word", "step", "tail", "short", "value"])
def test_memcpy_control(tmp_path: Path, right: str, wrong: str) -> None:
    """A mistake in memcpy() is found: a number of cases is printed for none."""
    done = compare(tmp_path, mistake(tree(), MEMCPY, tmp_path, right, wrong), "zen3")
    assert done.returncode and not done.stdout, done.stdout


@pytest.mark.parametrize("found_by, right, wrong", [
    ("copy_bytes", "jae .Lblocks\n\tjmp .Llarge_string", "jae .Llast_word\n\tjmp .Llarge_string"),
    ("copy_residue", "jmp .Llarge_string\n#endif", "jmp .Lexit\n#endif")],
    ids=["block", "elsewhere"])
def test_mutants(tmp_path: Path, found_by: str, right: str, wrong: str) -> None:
    """A mistake in what Zen 3 does above 256 bytes is found by copyloops."""
    failed = failures_with(tree(), USER, tmp_path, right, wrong, "-q", "rep_movs_alternative_zen3")
    assert f"rep_movs_alternative_zen3 {found_by}" in failed, failed
