# SPDX-License-Identifier: GPL-2.0
"""User copies by another compiler and in another mode: clang with IBT and kCFI, KMSAN, 32-bit x86.

Two kernels are built by clang and booted, a few objects are built for i386: by make test-full, not
by make test.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import environment
from tools.kunit_kernel import booted, kunit, parsed

pytestmark = pytest.mark.full

CLANG = "19"  # the kernel needs 17.0.1, plain clang of Debian 12 is 14
TOOLS = {"clang": "clang", "ld.lld": "lld", "llvm-ar": "llvm", "llvm-nm": "llvm",
         "llvm-objcopy": "llvm"}
OPTIONS = ("CONFIG_X86_USERCOPY_VARIANTS=y", "CONFIG_X86_USERCOPY_CONST=y")
SUITES = {"usercopy", "usercopy_faults", "unsafe_copy", "usercopy_x86", "immediate",
          "nontemporal_write"}
OBJECTS = ("arch/x86/kernel/cpu/common.o", "lib/usercopy.o", "kernel/signal.o",
           "kernel/time/time.o", "fs/readdir.o", "lib/tests/usercopy_faults_kunit.o",
           "lib/tests/unsafe_copy_kunit.o")


def boot_of_clang(name: str, config: str, tests: str, megabytes: int, seconds: int
                  ) -> tuple[str, set[str]]:
    """Build a KUnit kernel of two fragments of clang/ and boot it; skip where clang is missing.

    Returns the console log and the suites that kunit.py says have passed as a whole.
    """
    if missing := sorted({f"{package}-{CLANG}" for tool, package in TOOLS.items()
                          if not shutil.which(f"{tool}-{CLANG}")}):
        pytest.skip(f"not installed: {' '.join(missing)} (of Debian)")
    configs = Path(__file__).resolve().parent / "clang"
    kunit(name, "x86_64", "build", [configs / "kunit.config", configs / f"{config}.config"],
          f"--make_options=LLVM=-{CLANG}")
    log = booted(name, "qemu-system-x86_64", tests, "-cpu", "max", megabytes=megabytes,
                 seconds=seconds)
    return log, set(re.findall(r"=+ \[PASSED\] (\w+) =+", parsed(name, log)))


def test_clang() -> None:
    """objtool finds nothing in what clang makes with IBT and kCFI, and all tests pass."""
    log, passed = boot_of_clang("clang", "ibt", "*", 512, 1200)
    assert not re.search(r"\b(WARNING|BUG|Oops|CFI failure)\b", log), log[-3000:]
    assert SUITES <= passed, log[-3000:]


def test_kmsan_leak() -> None:
    """KMSAN reports what a copy of constant size takes out of the kernel, and no copy into it."""
    log, passed = boot_of_clang("kmsan", "kmsan", "usercopy_kmsan", 2048, 900)
    assert "usercopy_kmsan" in passed, log[-3000:]


def test_i386(tmp_path: Path) -> None:
    """32-bit x86 has neither option, and what they touch builds there."""
    def must(*words: str) -> str:
        done = subprocess.run(
            ["make", "-s", "-C", environment.tree(), f"O={tmp_path}", "ARCH=i386", *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stderr

    must("tinyconfig")
    wanted = (*OPTIONS, "CONFIG_KUNIT=y", "CONFIG_USERCOPY_FAULTS_KUNIT_TEST=y",
              "CONFIG_UNSAFE_COPY_KUNIT_TEST=y")
    with (tmp_path / ".config").open("a", encoding="utf-8") as config:
        config.write("".join(f"{line}\n" for line in wanted))
    must("olddefconfig")
    taken = (tmp_path / ".config").read_text().splitlines()
    assert not set(OPTIONS) & set(taken), "an option of x86-64 is on"
    printed = must(*OBJECTS)
    assert "warning:" not in printed, printed
    assert all((tmp_path / name).is_file() for name in OBJECTS)
