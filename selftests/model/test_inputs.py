# SPDX-License-Identifier: GPL-2.0
"""Bad input: one clear line, a non-zero exit, nothing left running."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from selftests.model import expected, tables
from selftests.model.emulator import plugin_api
from selftests.model.published import model
from selftests.model.symbols import Symbols
from selftests.model.workloads import ModelError
from selftests.results.store import ROOT
from selftests.vm.test_runner import qemus_of


@pytest.mark.parametrize("arguments, words", [
    # By the command line, before anything is built
    ("circle --build", "invalid choice: 'circle'"),
    ("ring --set taks=4", "known are kind=pipe tasks=64"),
    ("ring --set tasks", "known are"),
    ("ring --set tasks=4;init=/bin/sh", "not a value"),
    ("ring --geometry l3=8M:16", "known are l1d=48K:12"),
    ("ring --name ..", "letters, digits"),
    ("ring --memory 4G", "up to 2G"),
    ("ring --cpuid vendor=GenuineIntel;family=6", "NAME=VALUE with commas"),
    ("ring --range schedule schedule", "each once"),
    ("ring --build --kernel /nowhere", "no kernel in /nowhere"),
    ("ring --range no_such_function", "no function no_such_function in System.map"),
    ("ring --qemu /nowhere", "does not run"),
    ("ring --qemu /bin/true", "built without plugins"),
    # By the plugin, before anything is booted
    ("ring --geometry l1d=32K:0", "cachemodel: bad argument l1d=32K:0"),
    ("ring --geometry l1d=32K:-1", "cachemodel: bad argument"),
    ("ring --geometry l1d=32K:4294967304", "cachemodel: bad argument"),
    ("ring --geometry l1d=32K", "cachemodel: bad argument"),
    ("ring --geometry l1d=32K:8x", "cachemodel: bad argument"),
    ("ring --geometry l1d=0K:8", "cachemodel: wrong geometry of l1d"),
    ("ring --geometry l1d=48K:8", "not a power of two"),
    ("ring --geometry l2=1000:1", "no multiple of the 64-byte line"),
    ("ring --geometry llc=64K:4096", "more ways than lines"),
    ("ring --geometry llc=4096M:16", "larger than the 2 GiB"),
    ("ring --geometry llc=2049M:full", "larger than the 2 GiB"),
    ("ring --geometry policy=random", "cachemodel: bad argument policy"),
    ("ring --geometry nt=maybe", "cachemodel: bad argument nt"),
    # By the guest
    ("ring --set tasks=1", "tasks=1: a whole number of 2..4096 is wanted"),
    ("ring --set kind=signals", "kind of ring signals: pipe, futex or threads is wanted"),
    ("rings --set tasks=4:1 kinds=futex",
     "tasks=1: whole numbers of 2..4096 with colons are wanted"),
    ("writers --set file_kib=524288", "4 writers of 512 MiB are more than half the memory"),
])
def test_refused(run_options: list[str], arguments: str, words: str) -> None:
    """Wrong input ends the run with one line that says what is wrong."""
    done = model([*arguments.split(), *run_options])
    assert done.returncode in (1, 2), done.stdout
    assert done.stderr.count("\n") == 1 and words in done.stderr, done.stderr


def test_plugin_api() -> None:
    """The plugin's interface follows QEMU's version."""
    versions = {"7.2.22": 1, "8.2.0": 1, "9.0.4": 2, "9.1.0": 3, "10.0.2": 3, "11.1": 3}
    for version, api in versions.items():
        assert plugin_api(f"QEMU emulator version {version} (Debian)") == api
    with pytest.raises(ModelError):
        plugin_api("something else")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"ffffffff81000000 D data\n"])
def test_bad_system_map(tmp_path: Path, built: Path, content: bytes) -> None:
    """A System.map that is none."""
    (tmp_path / "System.map").write_bytes(content)
    with pytest.raises(ModelError, match="cannot be read as a System.map|names no function"):
        Symbols(tmp_path / "System.map", built / "init")


@pytest.mark.usefixtures("built")
def test_time_limit(tmp_path: Path) -> None:
    """A guest that does not end is killed."""
    done = model(["ring", "--time-limit", "1", "--results", str(tmp_path)])
    assert done.returncode == 1 and "not done after 1 s, killed" in done.stderr
    assert not qemus_of(tmp_path)


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path: Path, number: int) -> None:
    """A signal ends the run and QEMU; no result is left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "selftests.model", "ring", "--results", str(tmp_path)],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    deadline = time.monotonic() + 60
    while not qemus_of(tmp_path):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(process.pid, number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.strip() == "model: interrupted"
    assert not qemus_of(tmp_path)
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


def test_tables() -> None:
    """One result's tables, with numbers that can be checked by hand."""
    result = a_result("ring", 40)
    result["left_out"] = {"io": 3, "beyond_2GiB": 4}
    text = tables.one(result)
    rows = [line.split() for line in text.split("\n")]
    assert ["all", "10", "5", "4", "5"] in rows
    assert ["other", "10", "5", "4", "5"] in rows
    assert ["40", "100.00", "50", "100.00", "100", "100.00", "1000", "copy"] in rows
    assert "per context switch (10 counted)" in text


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
