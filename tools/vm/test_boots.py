# SPDX-License-Identifier: GPL-2.0
"""boots.py, with a stand-in for boot.py. No boots."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import group_file, groups, proofs, results_file
from tools.results_file import Result
from tools.vm import boots, lists
from tools.vm.boot import OCCASIONS, Job
from tools.vm.boots import Boot, Runner, chosen, read_tables

IMAGE = "arch/x86/boot/bzImage"


class Small:
    """A repository with only what a boot needs: tables, two kernels, a program for boot.py."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.monkeypatch = root, monkeypatch
        self.out, self.log = root / "build/out/vm", root / "log"
        for kernel in ("vm", "debug"):
            self.write(f"build/out/{kernel}/{IMAGE}", "image")
            self.write(f"build/out/{kernel}/.series", "hash")
        for name, value in {"BUILD": root / "build", "RESULTS": root / "results",
                            "KDIR": root / "tree", "CACHE": root / "cache", "JOBS": "1"}.items():
            monkeypatch.setenv(name, str(value))
        for name in ("GROUP", "FRESH", "KVM"):
            monkeypatch.delenv(name, raising=False)
        for module in (boots, groups, group_file):
            monkeypatch.setattr(module, "ROOT", root)

    def write(self, name: str, text: str) -> None:
        """Write a file with its directories."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def boots(self, *lines: str, **tables: str) -> dict[str, Boot]:
        """Return what is read of these lines of configs/tests.toml, and of groups' tables."""
        kernels = "kernels = { vm = 'vm all-on', debug = 'vm debug' }"
        self.write("configs/tests.toml", "\n".join(["# a comment", kernels, *lines]))
        for group, target in (("one", "'x86/a' = 'A=1'"), ("two", "b = ''")):
            text = tables.get(group, "")
            self.write(f"selftests/{group}/group.toml", f"kselftests.{target}\n{text}")
        return read_tables(["one", "two"])

    def runner(self, program: str) -> Runner:
        """Return a runner whose boots are a shell program: $1 the name, $2 the result file."""
        self.monkeypatch.setattr(Runner, "command", lambda self, boot: [
            "sh", "-c", f'mkdir -p "${{2%/*}}"; {program}', "sh", boot.name, str(self.part(boot))])
        return Runner()

    def judging(self, status: str) -> Runner:
        """Return a runner whose boots have one result, and add a line to the log."""
        return self.runner(
            f"""[ {status} != fail ]; code=$?; echo ran >> {self.log}; """
            f"""echo '[{{"id": "vm/boot_a", "status": "{status}", "reason": "r", "seconds": 1}}]'"""
            """ > "$2"; exit $code""")

    def rows(self, name: str) -> list[dict]:
        """Return the results of a boot."""
        return json.loads((self.root / f"results/parts/vm-{name}.json").read_text())


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    return Small(tmp_path, monkeypatch)


def row(name: str, words: str = "kunit", kernel: str = "vm") -> str:
    """Return the line of a boot."""
    return f"boots.{name} = {{ kernel = '{kernel}', words = '{words}' }}"


def test_boots_lines(small: Small) -> None:
    """Words are options of boot.py; a group adds parameters and words to a boot."""
    boot = small.boots("boots.a = { kernel='debug', append='x=1 y', words='kunit cpu=x=1,y=2' }",
                       one="boots.a = { append = 'z', words = 'kselftest=x86/a' }")["a"]
    assert Runner().command(boot)[3:5] == ["a", f"{small.out.parent}/debug"]
    assert boot.args.append == ["x=1", "y", "z"] and boot.args.env == ["A=1"]
    assert boot.args.jobs == [Job("kunit", "", "kunit"), Job("kselftest", "x86/a", "one")]
    assert boot.args.cpu == "x=1,y=2" and boot.args.time_limit == 600


def test_boots_of_an_occasion(small: Small) -> None:
    """Each boot has its occasion; a group's run has its own boots, those it adds to, default."""
    found = small.boots(row("first", "kunit when=make"), row("default"), row("a"), row("b"),
                        one=f"boots.a.words = ''\n{row('c')}", two=row("d", "kunit when=full"))

    def names(*words: str, when: str = "test", only: tuple[str, ...] = ()) -> str:
        return " ".join(boot.name for boot in chosen(found, list(words), when, list(only)))

    assert names() == "default a b c" and names(only=("one",)) == "default a c"
    assert names(when="make") == "first" and names(when="full") == "d"
    assert names("d", "b") == "d b"
    with pytest.raises(groups.GroupError, match="no boot 'e'"):
        names("e")


@pytest.mark.static
def test_boots_of_this_repository() -> None:
    """boot.py knows each word and each list of each of them, and each kernel can be made."""
    everything = sorted({group.name for group in groups.queue().groups})
    found = read_tables(everything)
    assert {boot.args.when for boot in found.values()} == set(OCCASIONS)
    jobs = {job for boot in found.values() for job in boot.args.jobs}
    assert {job.what for job in jobs if job.kind == "kselftest"} == set(
        groups.kselftests(everything))
    assert lists.read_allow(*(name for boot in found.values() for name in boot.args.allow))
    assert lists.read_ids()


def test_boots_together(small: Small) -> None:
    """One failure fails all, and all are run."""
    found = small.boots(row("a"), row("b"))
    runner = small.runner(f'echo $1 >> {small.log}; echo "[]" > "$2"; [ $1 != a ]')
    assert not runner.all(chosen(found, [], "test", []))
    assert sorted(small.log.read_text().split()) == ["a", "b"]


@pytest.mark.parametrize("line, error", [
    ("boots.a.kernel = 'vm'", "boots.a.words: missing key"), (row("a", ""), "no job"),
    (row("a", kernel="nothing"), "no kernel 'nothing'"),
    ("boots.a.words = 'kunit'", "boots.a: a new boot"), ("boots.a = 1", "boots.a: a table"),
    (row("a", "kunits"), "boot a: error: unrecognized arguments: --kunits\n"),
    (row("a", "kunit when=never"), "boot a: error: argument --when: invalid choice"),
    (row("a", "kselftest=d"), "no target 'd'"), (row("good"), "boots.good: a new boot"),
    (row("'a/b'"), "not a name: a/b"), ("boot.a = ''", "one/group.toml: boot: unknown key"),
    ("boots.a.word = ''", "boots.a.word: unknown key"), ("kernels.a = 1", "kernels.a: a string"),
    ("jobs.a = { minutes = '1', work = '', shows = '' }", "jobs.a.minutes: an integer"),
    ("a", "one/group.toml: Expected")])
def test_boots_refuse_a_bad_line(small: Small, capsys: pytest.CaptureFixture[str], line: str,
                                 error: str) -> None:
    """With one line, before the first boot."""
    with pytest.raises((groups.GroupError, SystemExit)) as refused:
        small.boots(row("good"), one=line)
    said = capsys.readouterr().err if refused.type is SystemExit else f"{refused.value}\n"
    assert re.search(error, said) and said.count("\n") == 1


def test_boot_without_a_kernel(small: Small) -> None:
    """A failure says so."""
    boot = small.boots(row("some"))["some"]
    (small.out / ".series").unlink()
    assert not Runner()(boot)
    assert small.rows("some") == [{"id": "vm/boot_some", "status": "fail", "seconds": 0.0,
                                   "reason": "no kernel in out/vm, or its last build failed"}]


def test_boot_that_gives_no_results(small: Small) -> None:
    """A failure says so, with the last line: the stage's exit is not all."""
    boot = small.boots(row("some"))["some"]
    assert not small.runner("echo a; echo 'b \"c\"'; exit 7")(boot)
    assert small.rows("some") == [{"id": "vm/boot_some", "status": "fail", "seconds": 0.0,
                                   "reason": 'boot.py: exit status 7: b "c"'}]


@pytest.mark.parametrize("status, runs", [("pass", 1), ("skip", 1), ("fail", 2)])
def test_boot_verdicts_are_kept(small: Small, status: str, runs: int) -> None:
    """A boot that passed is not run again, and its results say so; one that failed is."""
    boot = small.boots(row("a"))["a"]
    runner = small.judging(status)
    assert [runner(boot), runner(boot)] == [status != "fail"] * 2
    assert small.log.read_text().count("ran") == runs
    assert small.rows("a")[0].get("cached", False) == (runs == 1)


@pytest.mark.parametrize("change", [
    f"build/out/vm/{IMAGE}", "build/out/vm/modules/lib/a.ko", "build/out/vm/.config", "words",
    "build/out/vm/kselftest/b/b", "tools/vm/new.py", "KVM", "qemu", "ids", "allow",
    "FRESH"])
def test_boot_verdicts_depend_on(small: Small, monkeypatch: pytest.MonkeyPatch, change: str
                                 ) -> None:
    """Each of these makes a kept verdict worthless."""
    words, more = "kunit kselftest=b", ""
    boot, runner = small.boots(row("a", words))["a"], small.judging("pass")
    assert runner(boot) and runner(boot) and small.log.read_text().count("ran") == 1
    if "/" in change:
        small.write(change, "changed")
    elif change == "words":
        words += " cpus=3"
    elif change in ("ids", "allow"):
        more = "ids.'b/' = 'c/'" if change == "ids" else "allow.every.taint.1 = 'why'"
    elif change == "qemu":
        monkeypatch.setattr(proofs, "version", lambda *program: "another")
    else:
        monkeypatch.setenv(change, "1")
    assert small.judging("pass")(small.boots(row("a", words), two=more)["a"])
    assert small.log.read_text().count("ran") == 2


def test_boots_interrupted(tmp_path: Path) -> None:
    """SIGTERM ends what runs, each boot with a failure of its own, and starts no more."""
    program = (
        "import sys; from tools.vm import boots; "
        "from tools.vm.boots import Boot, Runner, arguments\n"
        "Runner.command = lambda self, boot: ['sh', '-c', 'trap \"touch $0.ended; exit 130\" TERM; "
        "touch $0.began; for i in $(seq 100); do sleep 0.1; done', f'{self.results}/{boot.name}']\n"
        "boots.chosen = lambda *_: [Boot(name, 'vm', (), arguments([name, 'vm', '--kunit'])) "
        "for name in 'ab']\n"
        "sys.exit(boots.main([]))\n")
    for name in (IMAGE, ".series"):
        (tmp_path / "out/vm" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out/vm" / name).write_text("")
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=groups.ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "BUILD": str(tmp_path), "RESULTS": str(tmp_path),
             "CACHE": f"{tmp_path}/c", "JOBS": "1", "GROUP": ""})
    end = time.monotonic() + 30
    while not (tmp_path / "a.began").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert (tmp_path / "a.ended").exists() and not (tmp_path / "b.began").exists()
    assert json.loads((tmp_path / "parts/vm-a.json").read_text())[0]["status"] == "fail"


def test_merged_results() -> None:
    """A failure counts before a pass, a pass before a skip; cached only if each of them is."""
    known: dict[str, Result] = {}
    for status, cached in (("skip", True), ("pass", True), ("pass", False)):
        results_file.merge(known, Result("a/b", status, "r", 1.0, cached))
    found = known["a/b"]
    assert (found.status, found.cached, found.seconds) == ("pass", False, 3.0)
