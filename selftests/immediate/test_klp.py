# SPDX-License-Identifier: GPL-2.0
"""Live patches beside immediate values: klp-build makes one of functions that read them, and the
kselftest livepatch passes.

klp-build takes kernels that are built in their source tree, so it gets a copy, and builds twice:
for make test-full. klp/target.patch gives both a value, klp/live.patch is what is patched alive,
klp/guest.sh what runs in the guest.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import environment
from tools.groups import lost_lines
from tools.vm.single import boot_single
from tools.vm.boot import failures
from tools.vm.tables import Job

pytestmark = pytest.mark.full

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OPTIONS = ("FTRACE", "FUNCTION_TRACER", "DYNAMIC_FTRACE", "LIVEPATCH", "KLP_BUILD",
           "DYNAMIC_DEBUG", "IMMEDIATE_VALUES", "SAMPLES")
JOBS = f"-j{environment.jobs()}"
MODULE = "samples/kobject/kobject-example.ko"


def run(tree: Path, *words: str | Path) -> None:
    """Run a command in the tree, its output to klp.log of the build; it has to succeed."""
    with open(tree.parents[1] / "klp.log", "a", encoding="utf-8") as log:
        done = subprocess.run(words, cwd=tree, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    assert done.returncode == 0, f"{words[0]}: see {log.name}"


@pytest.fixture(scope="module")
def tree() -> Iterator[Path]:
    """A tree with target.patch in which a kernel was built; its image and module are beside it."""
    if not shutil.which("recountdiff") or not shutil.which("gawk"):
        pytest.skip("not installed: patchutils, gawk (of Debian)")
    made = environment.build() / "klp/linux"
    shutil.rmtree(made.parent, ignore_errors=True)
    (made.parents[1] / "klp.log").unlink(missing_ok=True)
    shutil.copytree(environment.tree(), made, symlinks=True,
                    ignore=shutil.ignore_patterns(".pc"))
    run(made, "patch", "-p1", "-i", HERE / "klp/target.patch")
    run(made, "make", "tinyconfig")
    settings = "".join(f"CONFIG_{name}=y\n" for name in OPTIONS) + "CONFIG_SAMPLE_KOBJECT=m\n"
    with (made / ".config").open("a", encoding="utf-8") as config:
        config.write((ROOT / "configs/small.config").read_text(encoding="utf-8") + settings)
    run(made, "make", "olddefconfig")
    assert not lost_lines(settings, (made / ".config").read_text(encoding="utf-8"))
    run(made, "make", JOBS, "bzImage", "modules")
    for name in ("arch/x86/boot/bzImage", MODULE):
        shutil.copy(made / name, made.parent)
    yield made
    shutil.rmtree(made.parent)


def expect_results(name: str, tree: Path, command: str, pattern: str, tests: int) -> None:
    """Boot the kernel beside the tree with a command; so many lines of its output are results."""
    results, logs = boot_single(
        name, tree.parent / "bzImage", Job("cmd", command, name), allow=["klp"],
        append="kunit.filter_glob=none", env=(f"KDIR={tree}",))
    log = (logs / "jobs.log").read_text(errors="replace")
    assert not failures(results), log[-3000:]
    assert len(re.findall(pattern, log, re.M)) == tests, log[-3000:]


def test_livepatch_selftests(tree: Path) -> None:
    """The eight programs of mainline's kselftest pass, none of them skips."""
    where = tree.parent / "kselftest"
    run(tree, "make", "-C", "tools/testing/selftests", "TARGETS=livepatch", f"KDIR={tree}",
        f"INSTALL_PATH={where}", "install")
    expect_results("livepatch", tree, f"{where}/run_kselftest.sh -c livepatch",
                   r"^ok \d+ selftests: livepatch: [\w-]+\.sh$", 8)


def test_klp_build(tree: Path) -> None:
    """The patched functions read the values that are set, and loading and unloading do not harm."""
    run(tree, "scripts/livepatch/klp-build", JOBS, f"--output={tree.parent}/live.ko",
        HERE / "klp/live.patch")
    expect_results("klp", tree, f"sh {HERE}/klp/guest.sh {tree.parent}", r"^ok ", 7)
