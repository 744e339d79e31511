# SPDX-License-Identifier: GPL-2.0
"""Linux 6.12 with the group: it builds, its KUnit suite passes on a CPU that claims to be Zen 3,
and the harness finds nothing wrong in its routines but what is wrong in that version."""

import re
import shutil
from pathlib import Path

import pytest

from selftests.preparations.harness import build, failures, sweep
from tools import environment
from tools.kunit_kernel import booted, directory, kunit, parsed
from tools.tree.sources import Sources
from tools.tree.test_bases import unpack
from tools.tree.test_status import run

VERSION = "6.12"
OPTIONS = ("KUNIT", "CPU_SUP_AMD", "X86_MOVSB_DISTANCE", "X86_USERCOPY_KUNIT_TEST")
ZEN3 = "max,vendor=AuthenticAMD,family=25,model=1"

pytestmark = pytest.mark.full


def test_base_6_12(tmp_path: Path) -> None:
    """The newest 6.12 that Debian has, with make apply."""
    tree = environment.build() / f"linux-{VERSION}"
    shutil.rmtree(tree, ignore_errors=True)
    unpack(VERSION, tree)
    done = run("apply", tree, Path())
    assert done.returncode == 0, done.stdout + done.stderr
    fragment = directory(f"base-{VERSION}") / "fragment"
    fragment.write_text("".join(f"CONFIG_{option}=y\n" for option in OPTIONS))
    kunit(f"base-{VERSION}", "x86_64", "build", [fragment], tree=tree)
    log = booted(f"base-{VERSION}", "qemu-system-x86_64", "usercopy_x86", "-cpu", ZEN3)
    assert re.search(r"ok 1 (no_)?fsrm\w*_zen3", log), log[-2000:]
    assert "[PASSED] usercopy_x86" in parsed(f"base-{VERSION}", log)
    wrong = failures(sweep(build(Sources.from_env().kernel(), tmp_path / "out",
                                 COPYLOOPS_SRC=tree / "arch/x86/lib"))[0])
    assert all(name.startswith("copy_to_nontemporal ") for name in wrong), wrong
