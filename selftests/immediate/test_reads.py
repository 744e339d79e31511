# SPDX-License-Identifier: GPL-2.0
"""What immediate values save: time in user space on the real CPU (reads.c, by make bench: other
work on the machine decides), and text in the kernel's test module.

The figures go to $CF_RESULTS/immediate-reads.json and immediate-text.json.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tools.bench.measure import command, model_words
from tools.results.machine import cpu

HERE = Path(__file__).resolve().parent
ROUNDS = 1501       # of each of twelve cases; about 15 s
THRASH_KIB = 4096   # more than the second-level caches of today
CLOCK_NS = 20       # two steps of clock_gettime() on common machines: less cannot be measured
TABLE = 12          # bytes of an entry; the original's had 18
REX = 1             # byte that a read may have more: its branch tests all 64 bits of the register

Case = dict[str, Any]


def keep(name: str, found: dict[str, Any]) -> None:
    """Write figures to a file of the results."""
    results = Path(os.environ.get("CF_RESULTS", "build/results"))
    results.mkdir(parents=True, exist_ok=True)
    (results / f"immediate-{name}.json").write_text(json.dumps(found, indent=1) + "\n")
    print(found)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int, str], Case]:
    """The timed cases by (width, reads, cache)."""
    program = tmp_path_factory.mktemp("immediate") / "reads"
    command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fno-pie", "-no-pie", "-o", program,
            HERE / "reads.c")
    printed = command(program, str(ROUNDS), str(THRASH_KIB))
    rows = [json.loads(line) for line in printed.splitlines()]
    keep("reads", {"kind": "timed", "unit": "ns added to a getppid(), first decile",
                   "cpu": model_words(cpu()), "rounds": ROUNDS, "thrash_kib": THRASH_KIB,
                   "cases": rows})
    return {(row["width"], row["reads"], row["cache"]): row for row in rows}


@pytest.mark.bench
def test_reads_thrashed(cases: dict[tuple[str, int, str], Case]) -> None:
    """4096 reads from thrashed caches: at least 44 % less time is added, as in the original."""
    row = cases["u32", 4096, "thrashed"]
    assert row["immediates_ns"] <= 0.56 * row["loads_ns"], row


@pytest.mark.bench
def test_reads_hot(cases: dict[tuple[str, int, str], Case]) -> None:
    """32 reads of what is in the caches anyway: no slower than loads, as far as is measured."""
    row = cases["u32", 32, "hot"]
    assert row["immediates_ns"] <= row["loads_ns"] + CLOCK_NS, row


def test_text_size() -> None:
    """Hot text: at most a byte a read more than loads with four bytes, 3.5 with eight.

    Of lib/test_imv_reads.o, not linked: sections and functions as the compiler made them.
    """
    module = Path(os.environ["CF_OUT"]) / "lib/test_imv_reads.o"
    if not module.exists():
        pytest.skip(f"{module} is not built: CONFIG_TEST_IMMEDIATE_READS")
    found = {name: int(size, 16) for size, name in re.findall(
        r"^\S+ (\S+) t (\w+)$", command("nm", "-S", module), re.M)}
    found |= {name: int(size) for name, size in re.findall(
        r"^(__imv_table)\s+(\d+)", command("size", "-A", module), re.M)}
    sites = 2 * (32 + 128 + 4096)
    rows = {f"{what}_{width}": found[f"{what}_{width}_4096"] / 4096
            for what in ("loads", "immediates") for width in ("u32", "u64")}
    rows |= {"table": found["__imv_table"] / sites}
    keep("text", {"kind": "counted", "unit": "bytes a read, with its branch", "rows": rows})
    assert rows["immediates_u32"] <= rows["loads_u32"] + REX, rows
    assert rows["immediates_u64"] <= rows["loads_u64"] + 3.5, rows
    assert rows["table"] == TABLE, rows
