# SPDX-License-Identifier: GPL-2.0
"""perf of the pushed tree builds, and `perf bench uaccess` prints what its manual page says."""

import re
import subprocess
from pathlib import Path

import pytest

from tools import environment

pytestmark = pytest.mark.full

# What needs a library, another compiler or more time, and is no part of perf bench uaccess
LEFT_OUT = ("NO_SHELLCHECK=1", "NO_DEMANGLE=1", "NO_JEVENTS=1", "NO_JVMTI=1", "NO_LIBBPF=1",
            "NO_LIBELF=1", "NO_LIBLLVM=1", "NO_LIBPERL=1", "NO_LIBPYTHON=1", "NO_LIBTRACEEVENT=1",
            "NO_RUST=1", "NO_SLANG=1", "BUILD_BPF_SKEL=0")
ROW = re.compile(r"^ +(\d+) +([\d.]+) +([\d.]+)$", re.M)
MIN_ROWS = 10


@pytest.fixture(scope="module")
def perf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build perf outside of the tree, with what Debian's packages of make test have."""
    out = tmp_path_factory.mktemp("perf")
    done = subprocess.run(
        ["make", "-C", environment.tree() / "tools/perf", f"-j{environment.jobs()}", f"O={out}",
         *LEFT_OUT], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return out / "perf"


def bench(perf: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run perf bench."""
    return subprocess.run([perf, "bench", *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=120)


@pytest.mark.parametrize("distance", ["8", "1024"])
@pytest.mark.parametrize("name", ["read", "write", "pipe"])
def test_perf_bench(perf: Path, name: str, distance: str) -> None:
    """One size and distance: a row of positive numbers, or one such number alone."""
    words = ("uaccess", name, "-s", "4096", "-d", distance)
    done = bench(perf, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"# Running 'uaccess/{name}' benchmark:\n" in done.stdout
    ((where, cycles, rate),) = ROW.findall(done.stdout)
    assert where == distance and float(cycles) > 0 and float(rate) > 0, done.stdout
    done = bench(perf, "-f", "simple", *words)
    assert done.returncode == 0 and re.fullmatch(r"[\d.]+\n", done.stdout), done.stdout
    assert float(done.stdout) > 0


def test_perf_bench_table(perf: Path) -> None:
    """Without a distance there is a row for each of several, from 0 to 4095."""
    done = bench(perf, "-r", "1", "uaccess", "read", "-n", "10")
    rows = [int(row[0]) for row in ROW.findall(done.stdout)]
    assert rows[0] == 0 and rows[-1] == 4095 and len(rows) > MIN_ROWS, done.stdout
    assert rows == sorted(set(rows)), done.stdout


@pytest.mark.parametrize("words, says", [
    (("read", "-d", "4096"), "Invalid distance: 4096"), (("read", "-s", "0"), "Invalid size: 0"),
    (("write", "-s", "4x"), "Invalid size: 4x"), (("pipe", "-s", "3GB"), "Invalid argument")])
def test_perf_bench_refuses(perf: Path, words: tuple[str, ...], says: str) -> None:
    """A size or a distance that there is not."""
    done = bench(perf, "uaccess", *words)
    assert done.returncode and says in done.stderr, done.stdout + done.stderr
