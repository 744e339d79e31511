# SPDX-License-Identifier: GPL-2.0
"""What immediate values save: time in user space on the real CPU (reads.c, by make bench: what else the machine does
decides), and text in the kernel's test module.

The figures go to $CF_RESULTS/immediate-reads.json and immediate-text.json.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
RESULTS = Path(os.environ.get("CF_RESULTS", "build/results"))
ROUNDS = 1501       # of each of twelve cases; about 15 s
THRASH_KIB = 4096   # more than the second-level caches of today
CLOCK_NS = 20       # two steps of clock_gettime() on common machines: nothing smaller can be told apart
STUB = 12           # bytes: the load and the jump back, at most
TABLE = 16          # bytes of an entry; the original's had 18

Case = dict[str, str | int]


def cpu_model() -> str:
    """The CPU's name, family and model, as /proc/cpuinfo has them."""
    text = Path("/proc/cpuinfo").read_text()
    found = [re.search(rf"^{key}\s*: (.*)$", text, re.M) for key in ("model name", "cpu family", "model")]
    return " / ".join(match[1] if match else "unknown" for match in found)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int, str], Case]:
    """The timed cases by (width, reads, cache)."""
    program = tmp_path_factory.mktemp("immediate") / "reads"
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-pie", "-no-pie", "-o", program, HERE / "reads.c"],
                   check=True)
    done = subprocess.run([program, str(ROUNDS), str(THRASH_KIB)], check=True, capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "immediate-reads.json").write_text(json.dumps(
        {"kind": "timed", "unit": "ns added to a getppid(), first decile", "cpu": cpu_model(), "rounds": ROUNDS,
         "thrash_kib": THRASH_KIB, "cases": rows}, indent=1) + "\n")
    print(done.stdout)
    return {(row["width"], row["reads"], row["cache"]): row for row in rows}


@pytest.mark.bench
def test_reads_thrashed(cases: dict[tuple[str, int, str], Case]) -> None:
    """4096 reads after somebody else used the caches: at least 44 % less time is added, as in the original's table."""
    row = cases["u32", 4096, "thrashed"]
    assert row["immediates_ns"] <= 0.56 * row["loads_ns"], row


@pytest.mark.bench
def test_reads_hot(cases: dict[tuple[str, int, str], Case]) -> None:
    """32 reads of what is in the caches anyway: not dearer than loads, as far as the clock can tell."""
    row = cases["u32", 32, "hot"]
    assert row["immediates_ns"] <= row["loads_ns"] + CLOCK_NS, row


@pytest.fixture(scope="module")
def module() -> Path:
    """The kernel's lib/test_imv_reads.o, not linked: sections and functions as the compiler made them."""
    path = Path(os.environ["CF_OUT"]) / "lib/test_imv_reads.o"
    if not path.exists():
        pytest.skip(f"{path} is not built: CONFIG_TEST_IMMEDIATE_READS")
    return path


def sizes(module: Path) -> dict[str, int]:
    """The functions' sizes in bytes, and those of the sections of stubs and of the table."""
    functions = subprocess.run(["nm", "-S", module], check=True, capture_output=True, text=True).stdout
    found = {name: int(size, 16) for size, name in re.findall(r"^\S+ (\S+) t (\w+)$", functions, re.M)}
    sections = subprocess.run(["size", "-A", module], check=True, capture_output=True, text=True).stdout
    return found | {name: int(size) for name, size in re.findall(r"^(\.imv\.text|__imv_table)\s+(\d+)", sections, re.M)}


def test_text_size(module: Path) -> None:
    """Hot text: no more than as loads with four bytes, at most 3.5 bytes a read more with eight; stub and table too."""
    found = sizes(module)
    sites = 2 * (32 + 128 + 4096)
    rows = {f"{what}_{width}": found[f"{what}_{width}_4096"] / 4096
            for what in ("loads", "immediates") for width in ("u32", "u64")}
    rows |= {"stub": found[".imv.text"] / sites, "table": found["__imv_table"] / sites}
    (RESULTS / "immediate-text.json").write_text(json.dumps(
        {"kind": "counted", "unit": "bytes a read, with its branch", "rows": rows}, indent=1) + "\n")
    print(rows)
    assert rows["immediates_u32"] <= rows["loads_u32"], rows
    assert rows["immediates_u64"] <= rows["loads_u64"] + 3.5, rows
    assert rows["table"] == TABLE and rows["stub"] <= STUB, rows
