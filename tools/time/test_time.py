# SPDX-License-Identifier: GPL-2.0
"""make time and make time-compare: what is compared, and what is refused in one line."""
import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.environment import ROOT
from tools.time.compare import table

MACHINE = {"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "1", "stepping": "1",
           "hypervisor": "none", "tsc_khz": 2445000}
KERNEL = {"release": "7.3.4", "microcode": "0xa0011d1", "mitigations": {"retbleed": "none"},
          "options": {"X86_MOVSB_DISTANCE": "n"}, "switches": {}}


def figures(median: float) -> dict[str, Any]:
    """Return the figures of a program, with quartiles a tenth off."""
    return {"unit": "ms", "median": median, "low": 0.9 * median, "high": 1.1 * median, "n": 21}


def file(**medians: float) -> dict[str, Any]:
    """Return what is in a file, with programs and their medians."""
    return copy.deepcopy({"machine": MACHINE, "kernel": KERNEL, "rounds": 21, "skipped": {},
                          "rows": {f"movsb/{name}": figures(one) for name, one in medians.items()}})


def run(*words: str | Path, **variables: str) -> tuple[int, str]:
    """Run the program with variables of make; return its exit status and what it says."""
    done = subprocess.run([sys.executable, "-m", "tools.time", *map(str, words)], cwd=ROOT,
                          env=os.environ | {"GROUP": ""} | variables, capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_compares(tmp_path: Path) -> None:
    """One row is less, one is more, and one does not differ: its quartiles overlap."""
    one, other = file(a=10, b=10, c=10, d=1), file(a=11, b=7, c=20)
    other["kernel"]["options"]["X86_MOVSB_DISTANCE"] = "y"
    for name, content in (("a", one), ("b", other)):
        (tmp_path / name).write_text(json.dumps(content))
    code, said = run("--compare", tmp_path / "a", tmp_path / "b")
    rows = {line.split()[0]: line.strip() for line in said.splitlines() if line.strip()}
    assert code == 0 and "X86_MOVSB_DISTANCE=y" in rows["B:"]
    for name, words in {"a": "no difference", "b": "B is less", "c": "B is more"}.items():
        assert rows[f"movsb/{name}"].endswith(words), said
    assert "in one of them only: movsb/d" in said


@pytest.mark.parametrize("where, field, value, words", [
    ("machine", "model", "17", "another model"), ("machine", "tsc_khz", 3000000, "frequency"),
    ("kernel", "microcode", "0x1", "another microcode"),
    ("kernel", "mitigations", {"retbleed": "untrained"}, "another mitigations retbleed")])
def test_refuses_two_machines(where: str, field: str, value: object, words: str) -> None:
    """The field in which they differ is named."""
    other = file(a=10)
    other[where][field] = value
    with pytest.raises(ValueError, match=words):
        table(file(a=10), other)


def test_refuses_bad_files(tmp_path: Path) -> None:
    """A truncated file, one without figures and one that QEMU's emulation timed: a line each."""
    whole = tmp_path / "whole"
    whole.write_text(json.dumps(file(a=10)))
    emulated = file(a=10)
    emulated["machine"]["hypervisor"] = "TCGTCGTCGTCG"
    for text, words in ((whole.read_text()[:-20], "not whole"), ("{}", "not a file of make time"),
                        (json.dumps(emulated), "emulation")):
        (tmp_path / "bad").write_text(text)
        code, said = run("--compare", whole, tmp_path / "bad")
        assert code == 2 and words in said and said.count("\n") == 1, said
    assert run("--compare", whole, tmp_path / "none")[0] == 2


@pytest.mark.parametrize("variables, words", [
    ({"DIR": "/dev/shm"}, "on tmpfs"), ({"DIR": "/no/such"}, "not a directory"),
    ({"ROUNDS": "1"}, "5 or more"), ({"GROUP": "nothing"}, "no group 'nothing'")])
def test_refuses_bad_words(variables: dict[str, str], words: str) -> None:
    """Before anything is timed, in one line."""
    code, said = run(**variables)
    assert code == 2 and words in said and said.count("\n") == 1


def test_refuses_a_busy_machine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
                                ) -> None:
    """With its load average."""
    from tools.time.__main__ import main
    monkeypatch.setattr(os, "getloadavg", lambda: (1000.0, 0.0, 0.0))
    assert main([]) == 2
    assert "the load average is 1000.00" in capsys.readouterr().err


@pytest.mark.full
def test_same_kernel(tmp_path: Path) -> None:
    """Two runs of one kernel show no difference."""
    for name in "ab":
        code, said = run(GROUP="smallcopies", RESULTS=str(tmp_path / name))
        assert code == 0, said
    code, said = run("--compare", *(next((tmp_path / name).glob("time-*.json")) for name in "ab"))
    assert code == 0 and said.count("no difference") == 4, said
