# SPDX-License-Identifier: GPL-2.0
"""klp-build makes a live patch of functions that read immediate values, and the patch works.

klp-build takes kernels that are built in their source tree, so it gets a copy, and builds twice:
for make test-full. klp/target.patch gives a module a value, klp/live.patch is what is patched alive,
klp/guest.sh what runs in the guest.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.groups import lost_lines
from tools.vm.apart import boot_apart

pytestmark = pytest.mark.full

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OPTIONS = ("FTRACE", "FUNCTION_TRACER", "DYNAMIC_FTRACE", "LIVEPATCH", "KLP_BUILD",
           "IMMEDIATE_VALUES", "SAMPLES")
JOBS = f"-j{os.environ.get('CF_JOBS') or os.cpu_count()}"
TESTS = 7


def run(tree: Path, *words: str | Path) -> None:
    """Run a command in the tree, its output to klp.log beside it; it has to succeed."""
    with open(tree.parent / "klp.log", "a", encoding="utf-8") as log:
        done = subprocess.run(words, cwd=tree, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    assert done.returncode == 0, f"{words[0]}: see {log.name}"


def test_klp_build() -> None:
    """The patched functions read the values that are set, and loading and unloading do not harm."""
    if not shutil.which("recountdiff") or not shutil.which("gawk"):
        pytest.skip("not installed: patchutils, gawk (of Debian)")
    work = Path(os.environ["CF_BUILD"]) / "klp"
    shutil.rmtree(work, ignore_errors=True)
    tree = work / "linux"
    shutil.copytree(os.environ["CF_TREE"], tree, symlinks=True,
                    ignore=shutil.ignore_patterns(".pc"))
    run(tree, "patch", "-p1", "-i", HERE / "klp/target.patch")
    run(tree, "make", "tinyconfig")
    settings = "".join(f"CONFIG_{name}=y\n" for name in OPTIONS) + "CONFIG_SAMPLE_KOBJECT=m\n"
    with (tree / ".config").open("a", encoding="utf-8") as config:
        config.write((ROOT / "configs/small.config").read_text(encoding="utf-8") + settings)
    run(tree, "make", "olddefconfig")
    assert not lost_lines(settings, (tree / ".config").read_text(encoding="utf-8"))
    run(tree, "make", JOBS, "bzImage", "modules")
    module = "samples/kobject/kobject-example.ko"
    for name in ("arch/x86/boot/bzImage", module):
        shutil.copy(tree / name, work)
    run(tree, "scripts/livepatch/klp-build", JOBS, f"--output={work}/live.ko",
        HERE / "klp/live.patch")
    code, printed, logs = boot_apart(
        "klp_build", work / "bzImage", f"cmd=sh {HERE}/klp/guest.sh {work}:klp",
        "--allow=klp", "--append=kunit.filter_glob=none")
    log = (logs / "jobs.log").read_text(errors="replace")
    assert code == 0, printed + log[-3000:]
    assert log.count("\nok ") == TESTS, log[-3000:]
    shutil.rmtree(work)
