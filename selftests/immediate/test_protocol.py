# SPDX-License-Identifier: GPL-2.0
"""The byte protocol of immediate values in user space, on the real CPU, and each step left out.

The figures of all runs of protocol.c, with the CPU, go to RESULTS/immediate-protocol.log.
"""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import environment
from tools.figures.machine import cpu, model_words
from tools.figures.measure import command

HERE = Path(__file__).resolve().parent
READS = 2_000_000_000       # 15 to 25 s on two cores
MIN_READS = 1_000_000_000
MAX_SECONDS = 150

Figures = dict[str, int]
Run = Callable[..., Figures]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs 2 CPUs: one reads while the other one writes")
    target = tmp_path_factory.mktemp("immediate") / "protocol"
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", target,
            HERE / "protocol.c")
    return target


def wrong(figures: Figures) -> int:
    """The number of wrong reads and faults."""
    return figures["torn"] + figures["outside"] + figures["faults"]


@pytest.fixture(scope="module")
def run(program: Path) -> Run:
    """A function that runs it with a form and options, and returns its figures.

    The exit code must be 0 or 1, and 1 if anything was wrong.
    """
    log = environment.results() / "immediate-protocol.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"cpu={model_words(cpu())}\n")

    def run_once(form: int, *options: str) -> Figures:
        done = subprocess.run([program, "--form", str(form), *options], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=MAX_SECONDS + 30)
        assert done.returncode in (0, 1), f"{done.returncode}: {done.stderr or done.stdout}"
        with log.open("a") as file:
            file.write(done.stdout)
        print(log.read_text())
        found = re.findall(r"(\w+)=(\d+)(?=\s)", done.stdout)
        figures = {key: int(value) for key, value in found}
        assert figures["reads"] > 0 and figures["sets"] > 0, done.stdout
        assert done.returncode == 1 or not wrong(figures), f"exit code 0 with {done.stdout}"
        return figures

    return run_once


def run_without(run: Run, form: int, step: str) -> Figures:
    """Run the negative control `step`."""
    return run(form, "--negative", step, "--seconds", "3")


@pytest.mark.parametrize("form", [4, 8])
def test_protocol_on_cores(run: Run, form: int) -> None:
    """More than 1e9 reads while the sites change, some through the int3, none of them wrong.

    4: sites of 6 and 7 bytes, a load <-> mov $imm32, and mov to mov; 8: of 10 bytes, movabs $imm64.
    """
    figures = run(form, "--reads", str(READS), "--seconds", str(MAX_SECONDS))
    assert not wrong(figures) and figures["reads"] >= MIN_READS, figures
    assert figures["sets"] > 1000 and figures["traps"] > 1000, figures


@pytest.mark.parametrize("form", [4, 8])
def test_negative_no_int3(run: Run, form: int) -> None:
    """Without the int3 there are torn values: a sync is between the halves."""
    figures = run_without(run, form, "no-int3")
    assert figures["torn"] + figures["faults"] > 0 and figures["traps"] == 0, figures


@pytest.mark.parametrize("form", [4, 8])
def test_negative_store_late(run: Run, form: int) -> None:
    """A variable stored after the set is completed: unpatched sites give old values, whole ones."""
    figures = run_without(run, form, "late-store")
    assert figures["outside"] > 0 and figures["torn"] == figures["faults"] == 0, figures


@pytest.mark.parametrize("form", [4, 8])
def test_negative_no_sync(run: Run, form: int) -> None:
    """Without the syncs: whether that goes wrong depends on the CPU; the int3 has been there."""
    figures = run_without(run, form, "no-sync")
    print(f"without a sync {wrong(figures)} of {figures['reads']} reads are wrong on this CPU")
    assert figures["traps"] > 0, figures
