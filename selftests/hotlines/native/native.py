# SPDX-License-Identifier: GPL-2.0
"""The scheduler in User Mode Linux, with the group and without: two kernels from the same
configuration, with the rings of ring.c, in several code layouts each.

Where the linker puts a function changes the time of a context switch by some 6 %, more than the
order of fields could. So each kernel is linked with LAYOUTS different paddings, the same in both.
"""
import hashlib
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

from tools import environment, groups
from tools.environment import ROOT
from tools.tree.working_copy import WorkingCopy
from tools.tree.sources import Sources
from tools.tree.state import States
from tools.series import series_hash

HERE = Path(__file__).resolve().parent
STATES = ("without", "with")
LAYOUTS = 8
# Objects of kernel/sched/Makefile, each after a padding
PADDED = ("core.o", "fair.o", "build_policy.o")


def image(state: str, layout: int) -> Path:
    """Return a kernel's file, whether it is there or not. state: of STATES."""
    return environment.build() / "native" / f"{state}-{layout}"


def made_of() -> str:
    """Return the hash of what the kernels are made of: the group's patches and ring.c."""
    ours = next(group.patches for group in groups.series().groups if group.name == "hotlines")
    return series_hash(ours) + hashlib.sha256((HERE / "ring.c").read_bytes()).hexdigest()


def is_built() -> bool:
    """Return whether the kernels are those of today."""
    stamp = image("", 0).with_name("made-of")
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == made_of()


def pad(sched: Path, layout: int) -> None:
    """Write the paddings of a layout into kernel/sched of a tree; layout 0 has 16 bytes each."""
    sizes = random.Random(layout)
    for number, _ in enumerate(PADDED):
        size = 16 * sizes.randrange(1, 256) if layout else 16
        (sched / f"pad{number}.S").write_text(f".text\n.skip {size}, 0xcc\n", encoding="utf-8")


def add_rings(sched: Path) -> None:
    """Put ring.c and the paddings into kernel/sched of a tree that is hard links to another."""
    text = (sched / "Makefile").read_text(encoding="utf-8")
    if "ring.o" not in text:
        for number, name in enumerate(PADDED):
            text, found = re.subn(rf"\b{re.escape(name)}\b", f"pad{number}.o {name}", text,
                                  count=1)
            assert found, f"kernel/sched/Makefile has no {name}"
        (sched / "Makefile").unlink()
        (sched / "Makefile").write_text(f"{text}obj-y += ring.o\n", encoding="utf-8")
    shutil.copyfile(HERE / "ring.c", sched / "ring.c")


def build() -> None:
    """Build every kernel that image() names. Raises subprocess.CalledProcessError, RuntimeError."""
    series, sources = groups.series(), Sources.from_env()
    work = image("", 0).parent
    (work / "made-of").unlink(missing_ok=True)
    copy = WorkingCopy(States(series, sources, work / "repo"), sources, work / "linux")
    copy.prepare()
    ours = next(group.patches for group in series.groups if group.name == "hotlines")
    first = series.patches.index(ours[0])
    add_rings(copy.tree / "kernel/sched")
    for state, number in zip(STATES, (first, first + len(ours))):
        copy.go(number)
        for layout in range(LAYOUTS):
            pad(copy.tree / "kernel/sched", layout)
            subprocess.run(
                [ROOT / "tools/kernel.sh", f"native-{state}", "uml"], check=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                env=os.environ | {"KDIR": str(copy.tree), "ARCH": "um", "TARGETS": "linux"})
            shutil.copy(environment.kernel(f"native-{state}") / "linux", image(state, layout))
    (work / "made-of").write_text(made_of(), encoding="utf-8")


def boot(kernel: Path, tasks: int) -> list[list[str]]:
    """Boot a kernel with ring=TASKS; return the words of its lines after "ring:". Raises
    subprocess.TimeoutExpired."""
    done = subprocess.run([kernel, "mem=256M", f"ring={tasks}"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    found = [line.split() for line in re.findall(r"ring: (.*)", done.stdout)]
    assert found and found[-1] == ["ended", "0"], done.stdout[-2000:]
    return found


def cycles(state: str, layout: int, tasks: int) -> dict[tuple[str, int], int]:
    """Return the cycles of a context switch by kind of ring and number of threads, up to tasks."""
    return {(words[1], int(words[2])): int(words[3])
            for words in boot(image(state, layout), tasks) if words[0] == "cycles"}


def lines(state: str) -> dict[str, list[int]]:
    """Return the lines of a task_struct that a pass touches, by kind of ring."""
    return {words[1]: [int(word) for word in words[2:]]
            for words in boot(image(state, 0), 0) if words[0] == "lines"}
