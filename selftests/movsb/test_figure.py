# SPDX-License-Identifier: GPL-2.0
"""A figure of README is made again on a bare Debian, by the commands of using.rst alone."""
import json
import re
import subprocess
from typing import Any

import pytest

from selftests.movsb.figures import at
from tools.environment import ROOT
from tools.figures import store
from tools.figures.machine import cpu_name, machine
from tools.figures.share import block_of

TABLE = "movsb/bench"
# Bytes and distance of README's row, and by how much the part of mainline's time may differ
ROW = ("hot", 4096, 8)
APART = 1.5


def part(block: dict[str, Any]) -> float:
    """Return what part of mainline's time the series takes in README's row."""
    copies = at(block, *ROW)
    return copies["series"].median / copies["movsb"].median


@pytest.mark.full
@pytest.mark.skipif("fsrm" not in machine()["copy flags"].split(),
                    reason="the table refuses a CPU without FSRM")
def test_reproduce_one_figure() -> None:
    """`make bench SHORT=1` after `make apply` gives the part of the time that README's row has for
    this CPU model; on a CPU that no table has, it gives a file that results-add takes."""
    page = (ROOT / "Documentation/using.rst").read_text(encoding="utf-8")
    lines = re.findall(r"^    (make (?:apply|bench SHORT=1))\b",
                       page.partition("\nYour CPU model\n")[2], re.M)
    assert lines == ["make apply", "make bench SHORT=1"]
    command = " && ".join([lines[0], f"{lines[1]} GROUP=movsb", "echo the file:",
                           "cat build/results/bench.json"])
    done = subprocess.run([ROOT / "tools/bare.sh", "run", command], text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    text = done.stdout.partition("the file:\n")[2]
    assert text, done.stdout[-3000:]
    block = block_of(json.loads(text)["blocks"][TABLE])
    named = {cpu_name(other["machine"]): other for other in store.read(*TABLE.split("/"))["blocks"]}
    published = named.get(cpu_name(block["machine"]))
    assert not published or 1 / APART < part(block) / part(published) < APART
