# SPDX-License-Identifier: GPL-2.0
"""Bad input: one clear line, a non-zero exit, nothing left running."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from selftests.model import expected, tables
from selftests.model.emulator import EmulatorError, plugin_api
from selftests.model.published import model
from selftests.model.result import by_further, further_names
from selftests.results.store import ROOT


def one_line(arguments: list[str], code: int, *words: str) -> None:
    """Run the model, which must end with this code and one line with these words."""
    done = model(arguments)
    lines = done.stderr.strip().split("\n")
    assert done.returncode == code, done.stderr + done.stdout
    assert len(lines) == 1, lines
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize("geometry, word", [
    ("l1d=32K:0", "bad argument l1d=32K:0"),
    ("l1d=32K:-1", "bad argument"),
    ("l1d=32K:4294967304", "bad argument"),
    ("l1d=32K", "bad argument"),
    ("l1d=32K:8x", "bad argument"),
    ("l1d=0K:8", "wrong geometry of l1d"),
    ("l1d=48K:8", "not a power of two"),
    ("l2=1000:1", "no multiple of the 64-byte line"),
    ("llc=64K:4096", "more ways than lines"),
    ("llc=4096M:16", "larger than the 2 GiB"),
    ("llc=2049M:full", "larger than the 2 GiB"),
    ("policy=random", "bad argument policy"),
    ("nt=maybe", "bad argument nt"),
])
def test_bad_geometry(run_options: list[str], geometry: str, word: str) -> None:
    """A geometry that no cache has is told of before anything is booted."""
    one_line(["run", "ring", "--name", "bad", "--geometry", geometry, *run_options],
             1, "cachemodel: ", word)


@pytest.mark.parametrize("also, word", [
    (["llc:8M:16"], "bad argument also=llc:8M:16"),
    (["l2"], "bad argument also=l2"),
    (["l2:8M:0"], "bad argument"),
    (["l2:48K:8"], "wrong geometry of l2: size"),
    (["l1d:48K:4096"], "wrong geometry of l1d: more ways than lines"),
    (["l2:1M:16"] * 9, "bad argument"),
])
def test_bad_further_cache(run_options: list[str], also: list[str], word: str) -> None:
    """A further cache is a geometry like others, at a level that can have one."""
    options = [word for cache in also for word in ("--also", cache)]
    one_line(["run", "ring", "--name", "bad", *options, *run_options], 1, "cachemodel: ", word)


def test_further_cache_cpus(run_options: list[str]) -> None:
    """A workload on several CPUs has none."""
    one_line(["run", "writers", "--name", "bad", "--also", "l2:2M:16", *run_options], 1, "for one CPU only")


@pytest.mark.parametrize("option, word", [
    (["--set", "taks=4"], "known are kind=pipe tasks=64"),
    (["--set", "tasks"], "known are"),
    (["--set", "tasks=4 init=/bin/sh"], "not a value"),
    (["--geometry", "l3=8M:16"], "known are l1d=48K:12"),
    (["--name", ".."], "letters, digits"),
    (["--memory", "4G"], "up to 2G"),
    (["--cpuid", "vendor = x"], "NAME=VALUE with commas"),
    (["--cpuid", "vendor=GenuineIntel;family=6"], "NAME=VALUE with commas"),
    (["--range", "schedule", "--range", "schedule"], "each once"),
    (["--no-such"], "unrecognized arguments"),
])
def test_bad_setting(run_options: list[str], option: list[str], word: str) -> None:
    """A setting that the workload does not have names those that it has."""
    one_line(["run", "ring", "--name", "bad", *option, *run_options], 2, word)


@pytest.mark.parametrize("given, word", [
    ({}, "WORKLOAD= is not given; it can be bystander, calibrate, ioctl, reads, ring, rings, syscalls, "
         "writers"),
    ({"WORKLOAD": "circle"}, "invalid choice: 'circle'"),
    ({"WORKLOAD": "ring", "BOUND": "yes"}, "BOUND=yes: 1 or 0 is wanted"),
    ({"WORKLOAD": "ring", "INSTRUCTIONS": "2"}, "INSTRUCTIONS=2: 1 or 0 is wanted"),
    ({"WORKLOAD": "ring", "CPUID": "?"}, "--cpuid ?: NAME=VALUE"),
    ({"WORKLOAD": "ring", "SET": "task=3"}, "--set task=3: known are kind=pipe tasks=64"),
    ({"WORKLOAD": "ring", "KERNEL": "/nowhere"}, "no kernel in /nowhere"),
])
def test_make_model_refuses(given: dict[str, str], word: str) -> None:
    """What `make model` is given is looked at before anything is built."""
    names = ("WORKLOAD", "SET", "GEOMETRY", "ALSO", "CPUID", "BOUND", "INSTRUCTIONS", "RESULT", "KERNEL", "RANGE",
             "APPEND")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [str(Path(os.environ["CF_ROOT"]) / "scripts/model.sh"), "run"],
        env={**environment, "BUILD": os.environ["CF_BUILD"], **given},
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1 and word in done.stderr, done.stderr


def test_bad_guest_setting(run_options: list[str]) -> None:
    """A value out of its bounds is refused by the guest, with the bounds."""
    one_line(["run", "ring", "--name", "bad-guest", "--set", "tasks=1", *run_options],
             1, "tasks=1: a whole number of 2..4096 is wanted")
    one_line(["run", "ring", "--name", "bad-guest", "--set", "kind=signals", *run_options],
             1, "kind of ring signals: pipe, futex or threads is wanted")
    one_line(["run", "ring", "--name", "bad-guest", "--set", "churn=257", *run_options],
             1, "churn=257: a whole number of 0..256 is wanted")
    one_line(["run", "rings", "--name", "bad-guest", "--set", "tasks=4:1", "--set", "kinds=futex", *run_options],
             1, "tasks=1: whole numbers of 2..4096 with colons are wanted")
    one_line(["run", "writers", "--name", "bad-guest", "--set", "file_kib=524288",
              *run_options], 1, "4 writers of 512 MiB are more than half the memory")


def test_bad_function(run_options: list[str]) -> None:
    """A function that the kernel does not have."""
    one_line(["run", "ring", "--name", "bad", "--range", "no_such_function",
              *run_options], 1, "no function no_such_function in System.map")


def test_no_plugin_support(tmp_path: Path, run_options: list[str]) -> None:
    """A QEMU without plugins is told of as that."""
    qemu = tmp_path / "qemu"
    qemu.write_text("#!/bin/sh\necho 'QEMU emulator version 7.2.22'\n"
                    "echo '-pidfile file'\n")
    qemu.chmod(0o755)
    one_line(["run", "ring", "--qemu", str(qemu), *run_options], 1, "built without plugins")
    one_line(["run", "ring", "--qemu", str(tmp_path / "none"), *run_options], 1, "does not run")
    qemu.write_text("#!/bin/sh\necho hello\necho '-plugin x'\n")
    one_line(["run", "ring", "--qemu", str(qemu), *run_options], 1, "not a QEMU version")


def test_plugin_api() -> None:
    """The plugin's interface follows QEMU's version."""
    versions = {"7.2.22": 1, "8.2.0": 1, "9.0.4": 2, "9.1.0": 3, "10.0.2": 3, "11.1": 3}
    for version, api in versions.items():
        assert plugin_api(f"QEMU emulator version {version} (Debian)") == api
    with pytest.raises(EmulatorError):
        plugin_api("something else")


@pytest.mark.parametrize("content, word", [
    (None, "cannot be read as a System.map"),
    (b"\xff\xfe\x00", "cannot be read as a System.map"),
    (b"", "names no function"),
    (b"ffffffff81000000 D data\n", "names no function"),
])
def test_bad_system_map(tmp_path: Path, kernel: Path, built: Path,
                        content: bytes | None, word: str) -> None:
    """A System.map that is not there, or is none."""
    other = tmp_path / kernel.name
    other.mkdir()
    for part in ("arch", "include", "usr"):
        (other / part).symlink_to(kernel / part)
    if content is not None:
        (other / "System.map").write_bytes(content)
    one_line(["run", "ring", "--kernel", str(other), "--built", str(built),
              "--results", str(tmp_path)], 1, "System.map", word)


def qemu_of(directory: Path) -> list[str]:
    """Return the QEMU processes that write into a directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:  # it has ended
            continue
        if "qemu-system" in command and str(directory) in command:
            found.append(command)
    return found


def test_time_limit(tmp_path: Path, run_options: list[str]) -> None:
    """A guest that does not end is killed."""
    one_line(["run", "ring", "--time-limit", "1", *run_options[:-1], str(tmp_path)],
             1, "not done after 1 s, killed")
    assert not qemu_of(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path: Path, run_options: list[str], number: int) -> None:
    """A signal ends the run and QEMU; no result is left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "selftests.model", "run", "ring", *run_options[:-1],
         str(tmp_path)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    deadline = time.monotonic() + 60
    while not qemu_of(tmp_path):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(process.pid, number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.strip() == "model: interrupted"
    assert not qemu_of(tmp_path)
    assert not (tmp_path / "ring.json").exists()


def label(llc: int) -> dict[str, object]:
    """Return the counts of a label with so many LLC misses in ten units."""
    level = {"l1d": 100, "l2": 50, "llc": llc}
    none = {"l1d": 0, "l2": 0, "llc": 0}
    return {"units": 10, "executed": {}, "loads": 1000, "stores": 0, "stores_nt": 0,
            "load_misses": level, "store_misses": none, "writebacks": 0,
            "kinds": {"other": {"lines": 5, **level}},
            "functions": [{"name": "copy", "loads": 1000, "stores": 0, "stores_nt": 0,
                           "load_misses": level, "store_misses": none,
                           "writebacks": 0}]}


def a_result(workload: str, llc: int) -> dict[str, object]:
    """Return a result as the model writes it."""
    cache = {"size": 32768, "ways": 8}
    return {"kind": "modelled", "workload": workload, "words": {},
            "geometry": {"l1d": cache, "l2": cache, "llc": cache, "line": 64,
                         "policy": "lru", "nt": "evict", "cpus": 1},
            "kernel": {"release": "7.3.4", "series": "x", "append": ""},
            "qemu": "QEMU", "labels": {workload: label(llc)}}


def test_side_by_side(tmp_path: Path) -> None:
    """Two results beside each other, with their ratio, per unit and in all."""
    for name, llc in (("before", 40), ("after", 10)):
        (tmp_path / f"{name}.json").write_text(json.dumps(a_result("ring", llc)))
    done = model(["compare", "before", "after", "--results", str(tmp_path)])
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.split("\n")]
    assert ["LLC", "misses", "4", "1", "0.250"] in rows
    assert ["copy", "4", "1", "0.250"] in rows
    assert ["accesses", "100", "100", "1.000"] in rows
    assert not any(row[:1] == ["instructions"] for row in rows)
    assert "nothing that was set" in done.stdout
    assert "Modelled, not timed" in done.stdout


def test_side_by_side_all(tmp_path: Path) -> None:
    """Instructions where both counted them, and further caches that both had."""
    for name, more in (("before", 0), ("after", 10)):
        result = a_result("ring", 40)
        result["labels"]["ring"].update(executed={"instructions": 1000 + more}, further={
            "l2:2M:16": {"all": 500, "other": 500}, f"l2:{name}": {"all": 1}})
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
    done = model(["compare", "before", "after", "--results", str(tmp_path)])
    rows = [line.split() for line in done.stdout.split("\n")]
    assert ["instructions", "100", "101", "1.010"] in rows
    assert ["l2:2M:16", "misses", "50", "50", "1.000"] in rows
    assert "l2:before" not in done.stdout


def test_tables() -> None:
    """One result's tables, with numbers that can be checked by hand."""
    result = a_result("ring", 40)
    result["fully_associative"] = {"ring": label(20)}
    result["left_out"] = {"io": 3, "beyond_2GiB": 4}
    result["labels"]["ring"]["further"] = {"l2:2M:16": {"all": 25, "other": 25}}
    rows = [line.split() for line in tables.one(result).split("\n")]
    assert ["all", "10", "5", "4", "5"] in rows
    assert ["other", "10", "5", "4", "5"] in rows
    assert ["all,", "fully", "associative", "10", "5", "2"] in rows
    assert ["40", "100.00", "50", "100.00", "100", "100.00", "1000", "copy"] in rows
    assert "per context switch (10 counted)" in tables.one(result)
    assert "misses of further caches: l2:2M:16 2.50\n" in tables.one(result)


def test_tables_last_level() -> None:
    """Where nothing misses in the LLC, functions are told by L2 miss."""
    assert "Top functions by L2 miss" in tables.top_functions(a_result("ring", 0), "ring")


def test_arithmetic_has_limits() -> None:
    """A geometry that the arithmetic does not hold for is refused."""
    def geometry(llc: int, policy: str = "lru") -> dict[str, object]:
        return {"l1d": {"size": 32 << 10, "ways": 8}, "l2": {"size": 256 << 10, "ways": 8},
                "llc": {"size": llc, "ways": 16}, "policy": policy, "nt": "evict"}
    assert expected.expected(geometry(1 << 20))
    for wrong in (geometry(4 << 20), geometry(32 << 10), geometry(1 << 20, "fifo")):
        with pytest.raises(ValueError):
            expected.expected(wrong)


def test_compare_refuses(tmp_path: Path) -> None:
    """Results of two workloads, a file that is none, a name that is not there."""
    for name in ("ring", "writers"):
        (tmp_path / f"{name}.json").write_text(json.dumps(a_result(name, 1)))
    (tmp_path / "none.json").write_text("[]")
    where = ["--results", str(tmp_path)]
    one_line(["compare", "ring", "writers", *where], 1, "not to be compared")
    one_line(["compare", "ring", "none", *where], 1, "no result of the cache model")
    (tmp_path / "none.json").write_text('{"kind": "modelled"}')
    one_line(["compare", "ring", "none", *where], 1, "no result of the cache model")
    one_line(["compare", "ring", "missing", *where], 1, "no result missing")


def test_further_names() -> None:
    """Further caches are called as they were asked for, and no kind is lost."""
    names = further_names({"further": [{"level": "l2", "size": 512 << 10, "ways": 8},
                                       {"level": "l1d", "size": 48 << 10, "ways": "full"},
                                       {"level": "l2", "size": 2 << 20, "ways": 16}]})
    assert names == ["l2:512K:8", "l1d:48K:full", "l2:2M:16"]
    found = by_further({"0": [1, 2, 3], "1": [10, 20, 30]}, names)
    assert found["l2:2M:16"] == {"all": 33, "other": 3, "task_struct": 30}
    assert not further_names({})
