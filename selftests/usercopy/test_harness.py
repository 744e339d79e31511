# SPDX-License-Identifier: GPL-2.0
"""The user copy routines in user space, on the real CPU: kselftest x86/copyloops on the series' files and on mainline's."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from selftests.queue.scratch import Sources

TARGET = "x86/copyloops"
ROUTINES = ("arch/x86/lib/copy_user_64.S", "arch/x86/lib/copy_user_uncached_64.S")
VARIANTS = "arch/x86/lib/copy_user_variants_64.S"
MIN_CASES = 1_000_000
MAX_SECONDS = 60


def build(tree: Path, output: Path, **variables: Path) -> Path:
    """Build the harness of `tree` into `output`, with make variables; returns the program."""
    output.mkdir(parents=True)
    arguments = [f"{key}={value}" for key, value in variables.items()]
    done = subprocess.run(["make", "-C", tree / "tools/testing/selftests", f"TARGETS={TARGET}", f"O={output}", *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = [path for path in output.rglob("copyloops") if path.is_file()]
    assert done.returncode == 0 and found, f"the harness does not build: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return found[0]


def sweep(program: Path) -> tuple[dict[str, bool], int, float]:
    """Run the full sweep. Returns the verdict of each subtest, the number of cases and the seconds it took."""
    start = time.monotonic()
    done = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    seconds = time.monotonic() - start
    verdicts = {name: not bad for bad, name in re.findall(r"^(not )?ok \d+ (.*)$", done.stdout, re.M)}
    plan = re.search(r"^1\.\.(\d+)$", done.stdout, re.M)
    assert plan and int(plan[1]) == len(verdicts) > 0, f"plan and results differ: {done.stdout[-2000:]}"
    assert (done.returncode == 0) == all(verdicts.values()), f"exit code {done.returncode}: {verdicts}"
    cases = re.search(r"^# (\d+) cases", done.stdout, re.M)
    assert cases, "the harness does not say how many cases it ran"
    return verdicts, int(cases[1]), seconds


def test_harness(tmp_path: Path) -> None:
    """All routines of the pushed tree keep their promises, in more than a million cases, in under a minute."""
    verdicts, cases, seconds = sweep(build(Sources.from_env().kernel(), tmp_path / "out"))
    print(f"{cases} cases in {seconds:.1f} s")
    assert all(verdicts.values()), [name for name, good in verdicts.items() if not good]
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


def failures(verdicts: dict[str, bool]) -> list[str]:
    return sorted(name for name, good in verdicts.items() if not good)


def test_nontemporal_residue_fails_on_base(on_base: dict[str, bool]) -> None:
    """Mainline's copy_to_nontemporal() returns n although bytes could be copied: the harness must see it."""
    assert "copy_to_nontemporal load_fault_residue" in failures(on_base), failures(on_base)


def test_nontemporal_count_fails_on_base(on_base: dict[str, bool]) -> None:
    """Mainline's copy_to_nontemporal() takes the low half of its count: the harness must see it."""
    assert any("copy_to_nontemporal" in name and "count" in name for name in failures(on_base)), failures(on_base)


def test_base_fails_nowhere_else(on_base: dict[str, bool]) -> None:
    """What is not known to be wrong in mainline passes there too: the harness does not ask for more than the contract."""
    assert all(name.startswith("copy_to_nontemporal ") for name in failures(on_base)), failures(on_base)


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
