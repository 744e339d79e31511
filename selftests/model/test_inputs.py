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
from typing import Any, Callable

import pytest

from selftests.model import expected, tables
from selftests.model.emulator import plugin_api
from selftests.model.published import model
from selftests.model.result import by_further
from selftests.model.workloads import ModelError
from selftests.results.store import ROOT

Refused = Callable[..., None]


def one_line(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """Fail unless a command ended with this code and one line with these words."""
    lines = done.stderr.strip().split("\n")
    assert done.returncode == code, done.stderr + done.stdout
    assert len(lines) == 1, lines
    for word in words:
        assert word in lines[0]


@pytest.fixture(name="refused")
def fixture_refused(run_options: list[str]) -> Refused:
    """A function that runs a workload, which must end with one line with these words."""
    def refused(options: list[str], *words: str, code: int = 1, workload: str = "ring") -> None:
        one_line(model(["run", workload, "--name", "bad", *run_options, *options]), code, *words)
    return refused


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
def test_bad_geometry(refused: Refused, geometry: str, word: str) -> None:
    """A geometry that no cache has is refused before anything is booted."""
    refused(["--geometry", geometry], "cachemodel: ", word)


@pytest.mark.parametrize("also, word", [
    (["llc:8M:16"], "bad argument also=llc:8M:16"),
    (["l2"], "bad argument also=l2"),
    (["l2:8M:0"], "bad argument"),
    (["l2:48K:8"], "wrong geometry of l2: size"),
    (["l1d:48K:4096"], "wrong geometry of l1d: more ways than lines"),
    (["l2:1M:16"] * 9, "bad argument"),
])
def test_bad_further_cache(refused: Refused, also: list[str], word: str) -> None:
    """A further cache is a geometry like others, at a level that can have one."""
    refused([f"--also={cache}" for cache in also], "cachemodel: ", word)


def test_further_cache_cpus(refused: Refused) -> None:
    """A workload on several CPUs has none."""
    refused(["--also", "l2:2M:16"], "for one CPU only", workload="writers")


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
def test_bad_setting(refused: Refused, option: list[str], word: str) -> None:
    """A setting that the workload does not have names those that it has."""
    refused(option, word, code=2)


def test_make_model_refuses(refused: Refused) -> None:
    """What `make model` is given is looked at before anything is built."""
    refused(["--build"], "invalid choice: 'circle'", code=2, workload="circle")
    refused(["--build", "--kernel", "/nowhere"], "no kernel in /nowhere")


def test_bad_guest_setting(refused: Refused) -> None:
    """A value out of its bounds is refused by the guest, with the bounds."""
    for workload, words, message in (
            ("ring", ["tasks=1"], "tasks=1: a whole number of 2..4096 is wanted"),
            ("ring", ["kind=signals"], "kind of ring signals: pipe, futex or threads is wanted"),
            ("ring", ["churn=257"], "churn=257: a whole number of 0..256 is wanted"),
            ("rings", ["tasks=4:1", "kinds=futex"],
             "tasks=1: whole numbers of 2..4096 with colons are wanted"),
            ("writers", ["file_kib=524288"],
             "4 writers of 512 MiB are more than half the memory")):
        refused([f"--set={word}" for word in words], message, workload=workload)


def test_bad_function(refused: Refused) -> None:
    """A function that the kernel does not have."""
    refused(["--range", "no_such_function"], "no function no_such_function in System.map")


def test_no_plugin_support(tmp_path: Path, refused: Refused) -> None:
    """A QEMU without plugins is called that."""
    qemu = tmp_path / "qemu"
    for lines, word in ((["QEMU emulator version 7.2.22", "-pidfile file"],
                         "built without plugins"),
                        (["hello", "-plugin x"], "not a QEMU version")):
        qemu.write_text("\n".join(["#!/bin/sh", *(f"echo '{line}'" for line in lines), ""]))
        qemu.chmod(0o755)
        refused(["--qemu", str(qemu)], word)
    refused(["--qemu", str(tmp_path / "none")], "does not run")


def test_plugin_api() -> None:
    """The plugin's interface follows QEMU's version."""
    versions = {"7.2.22": 1, "8.2.0": 1, "9.0.4": 2, "9.1.0": 3, "10.0.2": 3, "11.1": 3}
    for version, api in versions.items():
        assert plugin_api(f"QEMU emulator version {version} (Debian)") == api
    with pytest.raises(ModelError):
        plugin_api("something else")


@pytest.mark.parametrize("content, word", [
    (None, "cannot be read as a System.map"),
    (b"\xff\xfe\x00", "cannot be read as a System.map"),
    (b"", "names no function"),
    (b"ffffffff81000000 D data\n", "names no function"),
])
def test_bad_system_map(tmp_path: Path, kernel: Path, refused: Refused, content: bytes | None,
                        word: str) -> None:
    """A System.map that is not there, or is none."""
    other = tmp_path / kernel.name
    other.mkdir()
    for part in ("arch", "include", "usr"):
        (other / part).symlink_to(kernel / part)
    if content is not None:
        (other / "System.map").write_bytes(content)
    refused(["--kernel", str(other)], "System.map", word)


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


def test_time_limit(tmp_path: Path, refused: Refused) -> None:
    """A guest that does not end is killed."""
    refused(["--time-limit", "1", "--results", str(tmp_path)], "not done after 1 s, killed")
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


def label(llc: int) -> dict[str, Any]:
    """Return the counts of a label with so many LLC misses in ten units."""
    level = {"l1d": 100, "l2": 50, "llc": llc}
    counts = {"loads": 1000, "stores": 0, "stores_nt": 0, "load_misses": level,
              "store_misses": {"l1d": 0, "l2": 0, "llc": 0}, "writebacks": 0}
    return {"units": 10, "executed": {}, **counts, "kinds": {"other": {"lines": 5, **level}},
            "functions": [{"name": "copy", **counts}]}


def a_result(workload: str, llc: int, **more: Any) -> dict[str, Any]:
    """Return a result as the model writes it. more: of its label."""
    cache = {"size": 32768, "ways": 8}
    return {"kind": "modelled", "workload": workload, "words": {},
            "geometry": {"l1d": cache, "l2": cache, "llc": cache, "line": 64,
                         "policy": "lru", "nt": "evict", "cpus": 1},
            "kernel": {"release": "7.3.4", "series": "x", "append": ""},
            "qemu": "QEMU", "labels": {workload: label(llc) | more}}


def compared(directory: Path, before: dict[str, Any], after: dict[str, Any]
             ) -> tuple[str, list[list[str]]]:
    """Return what comparing two results prints, and the words of its lines."""
    for name, result in (("before", before), ("after", after)):
        (directory / f"{name}.json").write_text(json.dumps(result))
    done = model(["compare", "before", "after", "--results", str(directory)])
    assert done.returncode == 0, done.stderr
    return done.stdout, [line.split() for line in done.stdout.split("\n")]


def test_side_by_side(tmp_path: Path) -> None:
    """Two results with their ratio, per unit and in all."""
    text, rows = compared(tmp_path, a_result("ring", 40), a_result("ring", 10))
    assert ["LLC", "misses", "4", "1", "0.250"] in rows
    assert ["copy", "4", "1", "0.250"] in rows
    assert ["accesses", "100", "100", "1.000"] in rows
    assert not any(row[:1] == ["instructions"] for row in rows)
    assert "nothing that was set" in text
    assert "Modelled, not timed" in text


def test_side_by_side_all(tmp_path: Path) -> None:
    """Instructions where both counted them, and further caches that both had."""
    text, rows = compared(tmp_path, *(a_result(
        "ring", 40, executed={"instructions": instructions},
        further={"l2:2M:16": {"all": 500, "other": 500}, f"l2:{name}": {"all": 1}})
        for name, instructions in (("before", 1000), ("after", 1010))))
    assert ["instructions", "100", "101", "1.010"] in rows
    assert ["l2:2M:16", "misses", "50", "50", "1.000"] in rows
    assert "l2:before" not in text


def test_tables() -> None:
    """One result's tables, with numbers that can be checked by hand."""
    result = a_result("ring", 40, further={"l2:2M:16": {"all": 25, "other": 25}})
    result["fully_associative"] = {"ring": label(20)}
    result["left_out"] = {"io": 3, "beyond_2GiB": 4}
    text = tables.one(result)
    rows = [line.split() for line in text.split("\n")]
    assert ["all", "10", "5", "4", "5"] in rows
    assert ["other", "10", "5", "4", "5"] in rows
    assert ["all,", "fully", "associative", "10", "5", "2"] in rows
    assert ["40", "100.00", "50", "100.00", "100", "100.00", "1000", "copy"] in rows
    assert "per context switch (10 counted)" in text
    assert "misses of further caches: l2:2M:16 2.50\n" in text


def test_tables_last_level() -> None:
    """Where nothing misses in the LLC, functions are sorted by L2 miss."""
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
    for name, text in (("ring", json.dumps(a_result("ring", 1))), ("list", "[]"),
                       ("writers", json.dumps(a_result("writers", 1))),
                       ("part", '{"kind": "modelled"}'), ("text", "none")):
        (tmp_path / f"{name}.json").write_text(text)
    for name, word in (("writers", "not to be compared"), ("missing", "no result missing"),
                       *((name, "no result of the cache model") for name in
                         ("list", "part", "text"))):
        one_line(model(["compare", "ring", name, "--results", str(tmp_path)]), 1, word)


def test_further_names() -> None:
    """Further caches have the names that they were asked for by, and no kind is lost."""
    names = ["l2:512K:8", "l1d:48K:full", "l2:2M:16"]
    found = by_further({"0": [9, 8, 7, 6, 1, 2, 3], "1": [9, 8, 7, 6, 10, 20, 30]}, names)
    assert list(found) == names
    assert found["l2:2M:16"] == {"all": 33, "other": 3, "task_struct": 30}
    assert not by_further({"0": [9, 8, 7, 6]}, [])
