# SPDX-License-Identifier: GPL-2.0
"""The build checks how large the groups of a task_struct are: with a field more, it stops and names
the group."""
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tools import environment

SCHED_H = "include/linux/sched.h"
LONG = "\tunsigned long\t\t\tplanted;\n"
# Where a field is planted, its text, and the group that is too large then
PLANTED = {
    "switch": ("\tconst struct sched_class\t*sched_class;\n", LONG, "task_switch"),
    "syscall": ("\tstruct files_struct\t\t*files;\n", LONG, "task_syscall"),
    "wakeup": ("\tstruct wake_q_node\t\twake_q;\n", LONG, "task_wakeup"),
    # The scheduler BORE, where patch puts its four longs with fuzz 2
    "bore": ("\tconst struct sched_class\t*sched_class;\n", LONG.replace(";", "[4];"),
             "task_switch"),
}


def compiled(out: Path, overlay: Path) -> subprocess.CompletedProcess[str]:
    """Compile kernel/sched/core.c as it was built in `out`, with the headers of `overlay` before
    the tree's."""
    line = (out / "kernel/sched/.core.o.cmd").read_text().split("\n", 1)[0]
    words = shlex.split(line.partition(":= ")[2].partition(" ; ")[0])
    words = [word for word in words if word != "ccache" and not word.startswith("-Wp,-MMD")]
    words[words.index("-o") + 1] = "/dev/null"
    words.insert(1, f"-I{overlay}/include")
    return subprocess.run(words, cwd=out, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def planted(tree: Path, overlay: Path, where: str, text: str) -> None:
    """Write a sched.h that has one field more, before the line `where`."""
    header = (tree / SCHED_H).read_text(encoding="utf-8")
    assert header.count(where) == 1
    (overlay / SCHED_H).parent.mkdir(parents=True)
    (overlay / SCHED_H).write_text(header.replace(where, text + where), encoding="utf-8")


def stopped_by(out: Path, overlay: Path, name: str) -> set[str]:
    """Return the groups that stop the build with a field more: those that its error names."""
    where, text, _ = PLANTED[name]
    planted(environment.tree(), overlay, where, text)
    done = compiled(out, overlay)
    assert done.returncode and "BUILD_BUG_ON" in done.stderr, done.stderr
    return set(re.findall(r"__cacheline_group_end__(\w+)", done.stderr))


@pytest.mark.parametrize("name", PLANTED)
def test_size_is_held(tmp_path: Path, name: str) -> None:
    """One field more in a group stops the build of the booted kernel's scheduler."""
    assert stopped_by(environment.kernel(), tmp_path, name) == {PLANTED[name][2]}


@pytest.mark.full
def test_defconfig(tmp_path: Path) -> None:
    """So do BORE's fields with x86_64_defconfig, which has fewer of the groups' fields."""
    out = environment.build() / "defconfig"
    for target in ("x86_64_defconfig", "kernel/sched/core.o"):
        subprocess.run(["make", "-s", "-C", environment.tree(), f"O={out}", target], check=True,
                       stdin=subprocess.DEVNULL)
    assert stopped_by(out, tmp_path, "bore") == {"task_switch"}
