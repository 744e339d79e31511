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

from emulator import EmulatorError, plugin_api
from modelrun import MODEL, model


def one_line(arguments: list[str], code: int, *words: str) -> None:
    """Run model.py, which must end with this code and one line with these words."""
    done = model(arguments)
    lines = done.stderr.strip().split("\n")
    assert done.returncode == code, done.stderr + done.stdout
    assert len(lines) == 1, lines
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize("geometry, word", [
    ("l1d=32K:0", "bad argument l1d=32K:0"),
    ("l1d=32K:-1", "bad argument"),
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


@pytest.mark.parametrize("option, word", [
    (["--set", "taks=4"], "known are tasks=64"),
    (["--set", "tasks"], "known are"),
    (["--set", "tasks=4 init=/bin/sh"], "not a value"),
    (["--geometry", "l3=8M:16"], "known are l1d=48K:12"),
])
def test_bad_setting(run_options: list[str], option: list[str], word: str) -> None:
    """A setting that the workload does not have names those that it has."""
    one_line(["run", "ring", "--name", "bad", *option, *run_options], 2, word)


def test_bad_guest_setting(run_options: list[str]) -> None:
    """A value out of its bounds is refused by the guest, with the bounds."""
    one_line(["run", "ring", "--name", "bad-guest", "--set", "tasks=1", *run_options],
             1, "tasks=1: a whole number of 2..4096 is wanted")


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
    one_line(["run", "ring", "--qemu", str(qemu), *run_options], 1,
             "built without plugins")
    one_line(["run", "ring", "--qemu", str(tmp_path / "none"), *run_options], 1,
             "does not run")
    qemu.write_text("#!/bin/sh\necho hello\necho '-plugin x'\n")
    one_line(["run", "ring", "--qemu", str(qemu), *run_options], 1,
             "not a QEMU version")


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


def test_interrupted(tmp_path: Path, run_options: list[str]) -> None:
    """SIGINT ends the run and QEMU; no result is left."""
    process = subprocess.Popen(
        [sys.executable, str(MODEL), "run", "ring", *run_options[:-1],
         str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    deadline = time.monotonic() + 60
    while not qemu_of(tmp_path):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.strip() == "model.py: interrupted, QEMU killed"
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
    """Return a result as model.py writes it."""
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
    assert ["copy", "40", "10", "0.250"] in rows
    assert "Modelled, not timed" in done.stdout


def test_compare_refuses(tmp_path: Path) -> None:
    """Results of two workloads, a file that is none, a name that is not there."""
    for name in ("ring", "writers"):
        (tmp_path / f"{name}.json").write_text(json.dumps(a_result(name, 1)))
    (tmp_path / "none.json").write_text("[]")
    where = ["--results", str(tmp_path)]
    one_line(["compare", "ring", "writers", *where], 1, "not to be compared")
    one_line(["compare", "ring", "none", *where], 1, "no result of the cache model")
    one_line(["compare", "ring", "missing", *where], 1, "no result missing")
