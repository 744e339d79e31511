# SPDX-License-Identifier: GPL-2.0
"""Where code is not patched: the KUnit tests of immediate values on other architectures, and on um
the generic ones of user copies.

um runs on the host, i386 in QEMU; arm64 is built only, where there is a compiler for it. Three
kernels are built by kunit.py: by make test-full, not by make test.
"""

import re
import shutil
from pathlib import Path

import pytest

from tools import environment
from tools.kunit_kernel import booted, directory, kunit, parsed

pytestmark = pytest.mark.full

OPTIONS = ("KUNIT", "IMMEDIATE_KUNIT_TEST", "DEBUG_KERNEL")
# Suites of any architecture, if the pushed groups have them, and their options
GENERIC = {"usercopy": "USERCOPY_KUNIT_TEST", "usercopy_faults": "USERCOPY_FAULTS_KUNIT_TEST",
           "unsafe_copy": "UNSAFE_COPY_KUNIT_TEST"}
CASES = 10  # that do not need patched code
COMPILER = ["--make_options=CC=ccache gcc"] if shutil.which("ccache") else []


def generic() -> dict[str, str]:
    """Those of GENERIC that the tree has."""
    known = (environment.tree() / "lib/Kconfig.debug").read_text()
    return {suite: option for suite, option in GENERIC.items() if f"config {option}\n" in known}


def fragment(arch: str, *more: str) -> list[Path]:
    """The configuration of the kernel for an architecture. more: options."""
    file = directory(arch) / "fragment"
    file.write_text("".join(f"CONFIG_{option}=y\n" for option in (*OPTIONS, *more)))
    return [file]


def expect_fallback(printed: str) -> None:
    """All cases that do not need patched code pass, and the others say that they were skipped."""
    verdicts = re.findall(r"\[(PASSED|SKIPPED)\] imv_test_", printed)
    assert verdicts.count("PASSED") == CASES and "SKIPPED" in verdicts, printed
    assert "[FAILED]" not in printed, printed


def test_fallback_um() -> None:
    """As a process of the host, with the generic suites of user copies."""
    suites = generic()
    printed = kunit("um", "um", "run", fragment("um", *suites.values()), "--timeout=300", *COMPILER)
    expect_fallback(printed)
    assert all(re.search(rf"=+ {suite} \(", printed) for suite in suites), printed


def test_fallback_i386() -> None:
    """x86 without sites."""
    kunit("i386", "i386", "build", fragment("i386"), *COMPILER)
    expect_fallback(parsed("i386", booted("i386", "qemu-system-i386", "immediate")))


def test_fallback_arm64() -> None:
    """It compiles where nothing is known of it."""
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("no aarch64-linux-gnu-gcc (gcc-aarch64-linux-gnu of Debian)")
    kunit("arm64", "arm64", "build", fragment("arm64", *generic().values()),
          "--cross_compile=aarch64-linux-gnu-")
