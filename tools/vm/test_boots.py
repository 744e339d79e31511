# SPDX-License-Identifier: GPL-2.0
"""boots.py and tables.py, with a stand-in for what boots. No boots."""

import json
import os
import re
import signal
from pathlib import Path
from threading import Event

import pytest

from tools import group_toml, groups, verdicts
from tools.results import Result, merge_result
from tools.vm import boots, lists
from tools.vm import boot as one
from tools.vm.boots import Runner
from tools.vm.tables import KUNIT, Boot, Job, chosen, read_tables

IMAGE = "arch/x86/boot/bzImage"


class Small:
    """A repository with only what a boot needs: tables, two kernels, and what the boots give."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.monkeypatch = root, monkeypatch
        self.out = root / "build/out/vm"
        self.ran: list[str] = []
        for kernel in ("vm", "debug"):
            self.write(f"build/out/{kernel}/{IMAGE}", "image")
            self.write(f"build/out/{kernel}/.series", "hash")
        for name, value in {"BUILD": root / "build", "RESULTS": root / "results",
                            "KDIR": root / "tree", "CACHE": root / "cache", "JOBS": "1"}.items():
            monkeypatch.setenv(name, str(value))
        for name in ("GROUP", "FRESH", "KVM"):
            monkeypatch.delenv(name, raising=False)
        for module in (boots, groups, group_toml):
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

    def runner(self, *failing: str, status: str = "pass") -> Runner:
        """Return a runner whose boots have one result of this status, a failure for some."""
        def run(boot: Boot, *_: object) -> list[Result]:
            self.ran.append(boot.name)
            return [Result(f"vm/boot_{boot.name}", "fail" if boot.name in failing else status, "r")]
        self.monkeypatch.setattr(one, "run", run)
        return Runner()

    def rows(self, name: str) -> list[dict]:
        """Return the results of a boot."""
        return json.loads((self.root / f"results/parts/vm-{name}.json").read_text())


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    return Small(tmp_path, monkeypatch)


def row(name: str, more: str = "", kernel: str = "vm") -> str:
    """Return the line of a boot. more: keys after the first."""
    return f"boots.{name} = {{ kernel = '{kernel}'{more and ', '}{more} }}"


def test_boots_lines(small: Small) -> None:
    """A group adds parameters, targets and their environment to a boot."""
    boot = small.boots(row("a", "append='x=1 y', cpu='x=1,y=2', env=['B=2']", "debug"),
                       one="boots.a = { append = 'z', kselftests = ['x86/a'] }")["a"]
    assert boot.row.kernel == "debug" and boot.row.append.split() == ["x=1", "y", "z"]
    assert boot.jobs == (KUNIT, Job("kselftest", "x86/a", "one"))
    assert boot.row.env == ["B=2", "A=1"]
    assert boot.row.cpu == "x=1,y=2" and boot.row.time_limit == 600


def test_boots_of_an_occasion(small: Small) -> None:
    """Each boot has its occasion; a group's run has its own boots, those it adds to, default."""
    found = small.boots(row("first", "when = 'make'"), row("default"), row("a"), row("b"),
                        one=f"boots.a.append = ''\n{row('c')}", two=row("d", "when = 'full'"))

    def names(*words: str, when: str = "test", only: tuple[str, ...] = ()) -> str:
        return " ".join(boot.name for boot in chosen(found, list(words), when, list(only)))

    assert names() == "default a b c" and names(only=("one",)) == "default a c"
    assert names(when="make") == "first" and names(when="full") == "d"
    assert names("d", "b") == "d b"
    with pytest.raises(groups.GroupError, match="no boot 'e'"):
        names("e")


@pytest.mark.static
def test_boots_of_this_repository() -> None:
    """There is each list that they name, and a boot for each occasion and each kselftest."""
    everything = sorted({group.name for group in groups.series().groups})
    found = read_tables(everything)
    assert {boot.row.when for boot in found.values()} == set(group_toml.OCCASIONS)
    jobs = {job for boot in found.values() for job in boot.jobs}
    assert {job.what for job in jobs if job.kind == "kselftest"} == set(
        groups.kselftests(everything))
    assert lists.read_allow(*(name for boot in found.values() for name in boot.row.allow))
    assert lists.read_ids()


def test_boots_together(small: Small) -> None:
    """One failure fails all, and all are run."""
    found = small.boots(row("a"), row("b"))
    assert small.runner("a").all(chosen(found, [], "test", [])) == 1
    assert sorted(small.ran) == ["a", "b"]


@pytest.mark.parametrize("line, error", [
    ("boots.a.kernel = ''", "boots.a: a new boot"), (row("a", "kunit = false"), "a: no job"),
    (row("a", kernel="nothing"), "no kernel 'nothing'"),
    ("boots.a = {}", "boots.a: a new boot"), ("boots.a = 1", "boots.a: a table"),
    (row("a", "kunits = true"), "boots.a.kunits: unknown key"),
    (row("a", "when = 'never'"), "boots.a: when: test or make or full"),
    (row("a", "cpus = '2'"), "boots.a.cpus: an integer"),
    (row("a", "env = 'A=1'"), "boots.a.env: a list"), (row("a", "env = [1]"), "env: a string"),
    ("boots.good.cpus = 4", "boots.good: what adds to a boot has append"),
    (row("a", "kselftests = ['d']"), "no target 'd'"), (row("good"), "boots.good: a new boot"),
    (row("'a/b'"), "boots.a/b: not a name"), ("boot.a = ''", "one/group.toml: boot: unknown key"),
    ("boots.a.word = ''", "boots.a.word: unknown key"), ("kernels.a = 1", "kernels.a: a string"),
    ("jobs.a = { minutes = '1', work = '', shows = '' }", "jobs.a.minutes: an integer"),
    ("a", "one/group.toml: Expected")])
def test_boots_refuse_a_bad_line(small: Small, line: str, error: str) -> None:
    """With one line, before the first boot."""
    with pytest.raises(groups.GroupError) as refused:
        small.boots(row("good"), one=line)
    assert re.search(error, f"{refused.value}") and "\n" not in f"{refused.value}"


def test_boot_without_a_kernel(small: Small) -> None:
    """A failure says so."""
    boot = small.boots(row("some"))["some"]
    (small.out / ".series").unlink()
    assert not Runner()(boot)
    assert small.rows("some") == [{"id": "vm/boot_some", "status": "fail", "seconds": 0.0,
                                   "reason": "no kernel in out/vm, or its last build failed: "
                                             "tools/kernel.sh vm builds it"}]


def test_boot_that_cannot_begin(small: Small) -> None:
    """A failure says so, with the reason: the stage's exit is not all."""
    boot = small.boots(row("some", "allow = ['nothing']"))["some"]
    runner = small.runner()
    small.monkeypatch.setattr(one, "run", lambda *_: lists.read_allow("nothing"))
    assert not runner(boot)
    assert small.rows("some") == [{"id": "vm/boot_some", "status": "fail", "seconds": 0.0,
                                   "reason": "0 tables allow.every, one expected"}]


@pytest.mark.parametrize("status, runs", [("pass", 1), ("skip", 1), ("fail", 2)])
def test_boot_verdicts_are_kept(small: Small, status: str, runs: int) -> None:
    """A boot that passed is not run again, and its results say so; one that failed is."""
    boot = small.boots(row("a"))["a"]
    runner = small.runner(status=status)
    assert [runner(boot), runner(boot)] == [status != "fail"] * 2
    assert len(small.ran) == runs
    assert small.rows("a")[0].get("cached", False) == (runs == 1)


@pytest.mark.parametrize("change", [
    f"build/out/vm/{IMAGE}", "build/out/vm/modules/lib/a.ko", "build/out/vm/.config", "row",
    "build/out/vm/kselftest/b/b", "tools/vm/new.py", "KVM", "qemu", "ids", "allow",
    "FRESH"])
def test_boot_verdicts_depend_on(small: Small, monkeypatch: pytest.MonkeyPatch, change: str
                                 ) -> None:
    """Each of these makes a kept verdict worthless."""
    keys, more = "kselftests = ['b']", ""
    boot, runner = small.boots(row("a", keys))["a"], small.runner()
    assert runner(boot) and runner(boot) and len(small.ran) == 1
    if "/" in change:
        small.write(change, "changed")
    elif change == "row":
        keys += ", cpus = 3"
    elif change in ("ids", "allow"):
        more = "ids.'b/' = 'c/'" if change == "ids" else "allow.every.taint.1 = 'why'"
    elif change == "qemu":
        monkeypatch.setattr(verdicts, "version", lambda *program: "another")
    else:
        monkeypatch.setenv(change, "1")
    assert small.runner()(small.boots(row("a", keys), two=more)["a"])
    assert len(small.ran) == 2


def test_boots_interrupted(small: Small) -> None:
    """What runs ends, with a failure of its own, and no more start."""
    found, runner = small.boots(row("a"), row("b")), Runner()

    def run(boot: Boot, _kernel: Path, _results: Path, stopped: Event, _kvm: bool) -> list[Result]:
        small.ran.append(boot.name)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopped.wait(30)
        return [Result(f"vm/boot_{boot.name}", "fail", "interrupted")]
    small.monkeypatch.setattr(one, "run", run)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        assert runner.all([found["a"], found["b"]]) == 130
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert small.ran == ["a"] and small.rows("a")[0]["reason"] == "interrupted"
    assert not (small.root / "results/parts/vm-b.json").exists()


def test_merged_results() -> None:
    """A failure counts before a pass, a pass before a skip; cached only if each of them is."""
    known: dict[str, Result] = {}
    for status, cached in (("skip", True), ("pass", True), ("pass", False)):
        merge_result(known, Result("a/b", status, "r", 1.0, cached))
    found = known["a/b"]
    assert (found.status, found.cached, found.seconds) == ("pass", False, 3.0)
