# SPDX-License-Identifier: GPL-2.0
"""User copies by another compiler and in another mode: clang with indirect branch tracking, KMSAN, 32-bit x86.

Two kernels are built by clang and booted, a few objects are built for i386: by make test-full, not by make test.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from selftests.kunit_kernel import booted, kunit, parsed

pytestmark = pytest.mark.full

CLANG = "19"  # the kernel needs 17.0.1, plain clang of Debian 12 is 14
TOOLS = {"clang": "clang", "ld.lld": "lld", "llvm-ar": "llvm", "llvm-nm": "llvm", "llvm-objcopy": "llvm"}
OPTIONS = ("CONFIG_X86_USERCOPY_VARIANTS=y", "CONFIG_X86_USERCOPY_CONST=y")
OBJECTS = ("arch/x86/kernel/cpu/common.o", "lib/usercopy.o", "lib/tests/usercopy_faults_kunit.o")


def build_by_clang(name: str, config: str) -> None:
    """Build a KUnit kernel of two fragments of clang/, or skip where clang is not installed."""
    missing = sorted({f"{package}-{CLANG}" for tool, package in TOOLS.items() if not shutil.which(f"{tool}-{CLANG}")})
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)} (of Debian)")
    configs = Path(__file__).resolve().parent / "clang"
    kunit(name, "x86_64", "build", [configs / "kunit.config", configs / f"{config}.config"],
          f"--make_options=LLVM=-{CLANG}")


def passed_suites(printed: str) -> set[str]:
    """The suites that kunit.py says have passed as a whole."""
    return set(re.findall(r"=+ \[PASSED\] (\w+) =+", printed))


def test_clang() -> None:
    """With every option on, objtool finds nothing in what clang makes, and the tests of user copies pass."""
    build_by_clang("clang", "ibt")
    log = booted("clang", "qemu-system-x86_64", "usercopy*", "-cpu", "max", megabytes=512, seconds=600)
    assert not re.search(r"\b(WARNING|BUG|Oops): ", log), log[-3000:]
    assert {"usercopy", "usercopy_faults", "usercopy_variant"} <= passed_suites(parsed("clang", log)), log[-3000:]


def test_kmsan_leak() -> None:
    """KMSAN reports what a copy of constant size takes out of the kernel, and nothing that one brought in."""
    build_by_clang("kmsan", "kmsan")
    log = booted("kmsan", "qemu-system-x86_64", "usercopy_kmsan", "-cpu", "max", megabytes=2048, seconds=900)
    assert "usercopy_kmsan" in passed_suites(parsed("kmsan", log)), log[-3000:]


def test_i386(tmp_path: Path) -> None:
    """32-bit x86 has neither option, and what they touch builds there."""
    make = ["make", "-s", "-C", os.environ["CF_TREE"], f"O={tmp_path}", "ARCH=i386"]

    def must(*words: str) -> str:
        done = subprocess.run([*make, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stderr

    must("tinyconfig")
    with (tmp_path / ".config").open("a", encoding="utf-8") as config:
        config.write("\n".join((*OPTIONS, "CONFIG_KUNIT=y", "CONFIG_USERCOPY_FAULTS_KUNIT_TEST=y", "")))
    must("olddefconfig")
    taken = (tmp_path / ".config").read_text().splitlines()
    assert not set(OPTIONS) & set(taken), "an option of x86-64 is on"
    said = must(*OBJECTS)
    assert "warning:" not in said, said
    assert all((tmp_path / name).is_file() for name in OBJECTS)
