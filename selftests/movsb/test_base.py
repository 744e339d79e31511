# SPDX-License-Identifier: GPL-2.0
"""Linux 6.12 with the group: it builds, its KUnit suite passes on a CPU that claims to be Zen 3, and
the harness finds nothing wrong in its routines but what is wrong in that version."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from selftests.preparations.harness import build, failures, sweep
from tools import environment
from tools.environment import ROOT
from tools.kunit_kernel import booted, directory, kunit, parsed
from tools.queue.scratch import Sources

VERSION = "6.12"
OPTIONS = ("KUNIT", "CPU_SUP_AMD", "X86_MOVSB_DISTANCE", "X86_USERCOPY_KUNIT_TEST")
ZEN3 = "max,vendor=AuthenticAMD,family=25,model=1"

pytestmark = pytest.mark.full


def must(*words: str | Path, **variables: str) -> None:
    """Run a script of tools/; a version that cannot be had is a skip."""
    env = {name: value for name, value in os.environ.items()
           if name not in ("GROUP", "QUEUE", "KDIR", "FORCE")}
    done = subprocess.run([ROOT / "tools" / words[0], *words[1:]], check=False,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=env | variables)
    if words[0] == "bases.sh" and done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:]


def test_base_6_12(tmp_path: Path) -> None:
    """The newest 6.12 that Debian has, with make apply."""
    tree = environment.build() / f"linux-{VERSION}"
    if not (tree / "Makefile").is_file():
        must("bases.sh", VERSION, tree)
    must("run", "tools.tree", "apply", KDIR=str(tree))
    fragment = directory(f"base-{VERSION}") / "fragment"
    fragment.write_text("".join(f"CONFIG_{option}=y\n" for option in OPTIONS))
    kunit(f"base-{VERSION}", "x86_64", "build", [fragment], tree=tree)
    log = booted(f"base-{VERSION}", "qemu-system-x86_64", "usercopy_x86", "-cpu", ZEN3)
    assert re.search(r"ok 1 (no_)?fsrm\w*_zen3", log), log[-2000:]
    assert "[PASSED] usercopy_x86" in parsed(f"base-{VERSION}", log)
    wrong = failures(sweep(build(Sources.from_env().kernel(), tmp_path / "out",
                                 COPYLOOPS_SRC=tree / "arch/x86/lib"))[0])
    assert all(name.startswith("copy_to_nontemporal ") for name in wrong), wrong
