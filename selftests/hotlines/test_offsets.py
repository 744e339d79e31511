# SPDX-License-Identifier: GPL-2.0
"""What the group changes in a kernel's code: the offsets of fields. Every function that differs in
more is in offsets.txt, with its reason; a change of the patches that moves or adds code is seen
here."""
import collections
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import environment, groups
from tools.identity.compare import objdump, run
from tools.tree.working_copy import WorkingCopy
from tools.tree.sources import Sources
from tools.tree.state import States

REASONS = Path(__file__).with_name("offsets.txt")
ORDER = "same instructions, other order"
SECTIONS = (".text", ".noinstr.text", ".sched.text", ".init.text", ".entry.text")
PADDING = re.compile(r"data16 |cs nop|nop|int3|xchg +%ax,%ax")
BRANCH = re.compile(r"(j\w+|call)\s+[0-9a-f]+ <([^+>]+)")


def form(text: str) -> str:
    """Return an instruction of objdump without displacements, immediate values and addresses."""
    if branch := BRANCH.match(text):
        return f"{branch[1]} {branch[2]}"
    text = re.sub(r"-?0x[0-9a-f]+\(", "D(", text.partition("#")[0])
    text = re.sub(r"(?<!\w)-?0x[0-9a-f]+", "A", text)
    return " ".join(re.sub(r"(?<=[ ,])\(%", "D(%", text).split())


def functions(vmlinux: Path) -> dict[str, list[tuple[str, ...]]]:
    """Return the functions of each name: the instructions of each that has it, sorted."""
    found: dict[str, list[list[str]]] = collections.defaultdict(list)
    sections = (f"-j{name}" for name in SECTIONS)
    for line in objdump(vmlinux, "-d", "--no-show-raw-insn", *sections).splitlines():
        if line.endswith(">:"):
            found[line[line.index("<") + 1:-2]].append([])
            last = found[line[line.index("<") + 1:-2]][-1]
        elif "\t" in line and not PADDING.match(text := line.split("\t", 1)[1].strip()):
            last.append(form(text))
    return {name: sorted(map(tuple, bodies)) for name, bodies in found.items()}


def built(copy: WorkingCopy, number: int, image: Path) -> dict[str, list[tuple[str, ...]]]:
    """Build the kernel of the first `number` patches without an option; return its functions."""
    copy.go(number)
    subprocess.run([groups.ROOT / "tools/kernel.sh", "offsets", "small"],
                   check=True, close_fds=False,
                   env=os.environ | {"KDIR": str(copy.tree)}, stdin=subprocess.DEVNULL)
    shutil.copy(environment.kernel("offsets") / "vmlinux", image)
    return functions(image)


@pytest.mark.full
def test_offsets_only() -> None:
    """No function differs in more than displacements, immediate values and padding but the listed
    ones."""
    series, sources, work = groups.series(), Sources.from_env(), environment.build() / "offsets"
    first, *rows = re.findall(r"^[^#\n].*", REASONS.read_text(), re.M)
    reasons = {name: row.split(" | ")[0] for row in rows for name in row.split(" | ")[1].split()}
    if (compiler := f"gcc {run('gcc', '-dumpversion').strip()}") != first:
        pytest.skip(f"offsets.txt is of {first}, this is {compiler}")
    copy = WorkingCopy(States(series, sources, work / "repo"), sources, work / "linux")
    copy.prepare()
    ours = [number for number, patch in enumerate(series.patches)
            if patch in next(group.patches for group in series.groups if group.name == "hotlines")]
    before, after = (built(copy, number, work / name)
                     for number, name in ((ours[0], "before"), (ours[-1] + 1, "after")))
    differ = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    (work / "differ").write_text("\n".join(sorted(differ)))
    assert len(before) > 10000 and differ
    assert differ == reasons.keys(), f"see {work}/differ: {len(differ)} functions"
    assert not [name for name, reason in reasons.items() if reason == ORDER
                and sorted(sum(before[name], ())) != sorted(sum(after[name], ()))]
