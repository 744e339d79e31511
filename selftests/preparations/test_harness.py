# SPDX-License-Identifier: GPL-2.0
"""The harness of the user copy routines: all hold in the series, some must fail in mainline."""

import os
import shutil
from pathlib import Path

import pytest

from selftests.preparations.harness import ROUTINES, build, failures, sweep
from selftests.queue.scratch import Sources

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
