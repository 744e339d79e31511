# SPDX-License-Identifier: GPL-2.0
"""boots.sh and boot.sh, with stand-ins for boot.sh and boot.py. No boots."""
from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from jobs import parse_job

FILES = ("scripts/lib.sh", "scripts/boots.sh", "scripts/boot.sh")
SHOW = "#!/bin/sh\necho \"$*\"\n"


class Small:
    """A repository with nothing but what a boot needs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vm = root / "build/out/vm"
        for name in FILES:
            self.write(name, (Path(os.environ["CF_ROOT"]) / name).read_text())
        self.write("configs/kselftests", "# targets\nx86/a one A=1\nb two\nc\n")

    def write(self, name: str, text: str) -> None:
        """Write a file that can be run, with its directories."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(self, *words: str) -> tuple[int, list[str]]:
        """Return exit status and output of a script."""
        done = subprocess.run(
            [self.root / "scripts" / words[0], *words[1:]],
            env={**os.environ, "BUILD": str(self.root / "build")},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout.splitlines()

    def boots(self, *lines: str, targets: str = "") -> tuple[int, list[str]]:
        """Return what boots.sh makes of a configs/boots with these lines."""
        if targets:
            self.write("configs/kselftests", targets)
        self.write("configs/boots", "# boots\n\n" + "\n".join(lines) + "\n")
        self.write("scripts/boot.sh", SHOW)
        return self.run("boots.sh")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    monkeypatch.setenv("JOBS", "1")
    return Small(tmp_path)


def test_boots_lines(small: Small) -> None:
    where = f"--kselftest-dir {small.vm}/kselftest"
    assert small.boots(
        "plain | vm |  | kunit", "a|debug|x=1 y|kselftests limit=9",
        "b | vm | | kunit kselftest=x86/a cpus=4 allow=c ") == (0, [
            "plain vm --job kunit --time-limit 600",
            "a debug --append x=1 --append y --job kselftest=x86/a:one "
            f"--env A=1 --job kselftest=b:two --job kselftest=c {where} "
            "--time-limit 9",
            f"b vm --job kunit --job kselftest=x86/a:one --env A=1 {where} "
            "--cpus 4 --allow c --time-limit 600"])


def test_boots_of_this_repository(small: Small) -> None:
    """boot.py knows each job and each list of each of them."""
    root = Path(os.environ["CF_ROOT"])
    lines = (root / "configs/boots").read_text().splitlines()
    code, printed = small.boots(*lines, targets=(root / "configs/kselftests").read_text())
    assert code == 0 and printed
    for line in printed:
        for job in re.findall(r"--job (\S+)", line):
            parse_job(job)
        for name in re.findall(r"--allow (\S+)", line):
            assert (root / f"selftests/vm/allow-{name}.txt").is_file()


def test_boots_side_by_side(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at a time, those alone first; one failure fails all, and what a boot prints is in one piece."""
    log = small.root / "log"
    meet = f"echo $1 >> {log}; for i in $(seq 100); do [ $(wc -l < {log}) -ge 3 ] && break; sleep 0.1; done"
    boot = f"#!/bin/sh\necho $1 begins\n[ $1 = alone ] && echo alone >> {log} || {{ {meet}; }}\necho $1 ends\n[ $1 != a ]\n"
    small.write("configs/boots", "a | vm | | kunit\nb | vm | | kunit\nalone | vm | | kunit alone\n")
    small.write("scripts/boot.sh", boot)
    monkeypatch.setenv("JOBS", "2")
    code, printed = small.run("boots.sh")
    assert code == 1 and printed[:2] == ["alone begins", "alone ends"]
    assert log.read_text().split()[0] == "alone"
    rest = ["a begins", "a ends"], ["b begins", "b ends"]
    assert printed[2:] in (rest[0] + rest[1], rest[1] + rest[0])
    # With one at a time the second begins when the first has ended
    monkeypatch.setenv("JOBS", "1")
    log.unlink()
    small.write("scripts/boot.sh", f"#!/bin/sh\necho $1 in >> {log}\nsleep 0.2\necho $1 out >> {log}\n")
    code, _ = small.run("boots.sh")
    assert code == 0 and log.read_text().split("\n")[:-1] == [
        f"{name} {way}" for name in ("alone", "a", "b") for way in ("in", "out")]


@pytest.mark.parametrize("line, error", [
    ("a | kunit", "name | kernel"), ("a | vm | | ", "name | kernel"),
    ("a | vm | | kunits", "unknown job kunits"),
    ("a | vm | | kselftest=d", "no target d")])
def test_boots_refuse_a_bad_line(small: Small, line: str, error: str) -> None:
    """Before the first boot."""
    code, printed = small.boots("good | vm | | kunit", line)
    assert code == 1 and len(printed) == 1 and error in printed[0]


def test_boot_of_its_kernel(small: Small) -> None:
    """Each kernel with its own modules; without one, a failure says so."""
    small.write("build/venv/bin/python", SHOW)
    for kernel in ("vm", "debug"):
        small.write(f"build/out/{kernel}/arch/x86/boot/bzImage", "")
    small.write("build/out/debug/.series", "hash\n")
    debug = small.vm.parent / "debug"
    code, printed = small.run("boot.sh", "some", "debug", "--job", "kunit")
    assert code == 0 and printed[0].endswith(
        f"--name some --env MODPROBE_OPTIONS=-d {debug}/modules --job kunit")
    assert f"--kernel {debug} " in printed[0]
    code, printed = small.run("boot.sh", "other", "vm", "--job", "kunit")
    reason = "no kernel in build/out/vm, or its last build failed"
    assert code == 1 and len(printed) == 1 and printed[0].endswith(reason)
    part = small.root / "build/results/parts/vm-other.json"
    assert json.loads(part.read_text()) == [{
        "id": "vm/boot_other", "status": "fail", "reason": reason,
        "seconds": 0}]


def test_boot_that_gives_no_results(small: Small) -> None:
    """A failure says so, with the last line: the stage's exit is not all."""
    small.write("build/venv/bin/python", "#!/bin/sh\necho a\necho 'b \"c\"'\nexit 7\n")
    for name in ("arch/x86/boot/bzImage", ".series"):
        small.write(f"build/out/vm/{name}", "")
    code, printed = small.run("boot.sh", "some", "vm", "--job", "kunit")
    assert code == 7 and printed == ["a", 'b "c"']
    part = small.root / "build/results/parts/vm-some.json"
    assert json.loads(part.read_text()) == [{
        "id": "vm/boot_some", "status": "fail", "seconds": 0,
        "reason": "boot.py: exit status 7: b c"}]


def test_first_boot_is_of_the_plain_kernel(small: Small) -> None:
    for name in ("build/out/vm/arch/x86/boot/bzImage", "build/out/vm/.series",
                 "selftests/vm/a.py", "selftests/vm/a.txt",
                 "configs/requirements.txt"):
        small.write(name, "text\n")
    small.write("build/venv/bin/python", SHOW)
    code, printed = small.run("boot.sh", "first")
    assert code == 0 and f"--kernel {small.vm} " in printed[0]
    assert printed[0].endswith("--job kunit")
    code, printed = small.run("boot.sh", "first")
    assert code == 0 and "booted and passed before" in printed[0]
