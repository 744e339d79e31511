# SPDX-License-Identifier: GPL-2.0
"""The harness of the user copy routines: all hold in the series, some must fail in mainline."""

import os
import shutil
from pathlib import Path

import pytest

from selftests.preparations.harness import (FLUSHCACHE, ROUTINES, build, failures,
                                            failures_with, flushcache, sweep)
from tools.tree.sources import Sources

MIN_CASES = 1_000_000
MAX_SECONDS = 60


def test_harness(tmp_path: Path) -> None:
    """All routines of the pushed tree pass, in more than a million cases, in under a minute."""
    verdicts, cases, seconds = sweep(build(Sources.from_env().kernel(), tmp_path / "out"))
    print(f"{cases} cases in {seconds:.1f} s")
    assert all(verdicts.values()), failures(verdicts)
    assert cases > MIN_CASES, f"only {cases} cases"
    assert seconds < MAX_SECONDS, f"{cases} cases took {seconds:.0f} s"


@pytest.fixture(scope="module")
def on_base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """The verdicts of the same harness on the base kernel's routines."""
    sources = Sources.from_env()
    where = tmp_path_factory.mktemp("base")
    for routine in ROUTINES:
        original = sources.original(routine)
        assert original, f"no {routine} in the base"
        shutil.copy(original, where / os.path.basename(routine))
    return sweep(build(sources.kernel(), where / "out", COPYLOOPS_SRC=where))[0]


def test_nontemporal_residue_fails_on_base(on_base: dict[str, bool]) -> None:
    """Mainline's copy_to_nontemporal() returns n although bytes could be copied."""
    assert "copy_to_nontemporal load_fault_residue" in failures(on_base), failures(on_base)


def test_nontemporal_count_fails_on_base(on_base: dict[str, bool]) -> None:
    """Mainline's copy_to_nontemporal() takes the low half of its count."""
    failed = failures(on_base)
    assert any("copy_to_nontemporal" in name and "count" in name for name in failed), failed


def test_base_fails_nowhere_else(on_base: dict[str, bool]) -> None:
    """What is not known to be wrong in mainline passes there: only the contract is asked for."""
    failed = failures(on_base)
    assert all(name.startswith("copy_to_nontemporal ") for name in failed), failed


def test_flushcache(tmp_path: Path) -> None:
    """What copy_user_flushcache() reports as copied is in no cache, whatever byte faults."""
    cases, bad = flushcache(build(Sources.from_env().kernel(), tmp_path / "out", "flushcache"))
    print(f"{cases} copies, {bad} leave bytes in the cache")
    assert cases > 1000 and not bad, f"{bad} of {cases}"


def test_flushcache_control(tmp_path: Path) -> None:
    """It is found when the line of the last byte before a fault is not written back."""
    sources = Sources.from_env()
    where = tmp_path / "lib"
    where.mkdir()
    for routine in ROUTINES:
        shutil.copy(sources.kernel() / routine, where)
    original = sources.original(FLUSHCACHE)
    assert original, f"no {FLUSHCACHE} in the base"
    shutil.copy(original, where)
    cases, bad = flushcache(build(sources.kernel(), tmp_path / "out", "flushcache",
                                  COPYLOOPS_SRC=where))
    print(f"{cases} copies, {bad} leave bytes in the cache")
    assert bad, f"0 of {cases}"


MISTAKES = {
    # The second word before the first: after a fault in the first it stays behind
    "order": ("store_hole_bytes", "\tmove_word (%rsi), (%rdi)\n\tcmpl $16,%ecx\n\tjbe .Llast_word\n"
              "\tmove_word 8(%rsi), 8(%rdi)\n",
              "\tcmpl $16,%ecx\n\tjbe .Llast_word\n\tmove_word 8(%rsi), 8(%rdi)\n"
              "\tmove_word (%rsi), (%rdi)\n"),
    "last": ("copy_bytes", '-16(%rsi,%rcx)', '-15(%rsi,%rcx)'),
    "step": ("copy_bytes", "addq $32,%rdi", "addq $24,%rdi"),
    "count": ("load_fault_residue", "subq $32,%rcx\n", "subq $40,%rcx\n"),
    "block": ("copy_bytes", "offset, 0, 8, 16, 24", "offset, 0, 8, 16"),
}


@pytest.mark.parametrize("found_by, right, wrong", MISTAKES.values(), ids=MISTAKES)
def test_rep_movs_control(tmp_path: Path, found_by: str, right: str, wrong: str) -> None:
    """A mistake in rep_movs_alternative() is found, an order of two moves by the page in front."""
    routine = "rep_movs_alternative_movsq"
    failed = failures_with(Sources.from_env().kernel(), ROUTINES[0], tmp_path, right, wrong,
                           "-q", routine)
    assert f"{routine} {found_by}" in failed, failed
