# SPDX-License-Identifier: GPL-2.0
"""Where code is not patched: the KUnit tests of immediate values on other architectures, by kunit.py.

um runs on the host, i386 in QEMU; arm64 is built only, where there is a compiler for it. Three kernels are built: by
make test-full, not by make test.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

CONFIG = """
CONFIG_KUNIT=y
CONFIG_IMMEDIATE_KUNIT_TEST=y
CONFIG_DEBUG_KERNEL=y
CONFIG_PROC_FS=y
CONFIG_SYSCTL=y
"""
CASES = 12  # that do not need patched code
COMPILER = ["--make_options=CC=ccache gcc"] if shutil.which("ccache") else []


def kunit(arch: str, action: str, *options: str) -> str:
    """Run kunit.py ACTION for an architecture and return what it prints; builds stay in build/kunit-ARCH."""
    out = Path(os.environ["CF_BUILD"]) / f"kunit-{arch}"
    out.mkdir(parents=True, exist_ok=True)
    fragment = out / "fragment"
    fragment.write_text(CONFIG)
    done = subprocess.run(
        [sys.executable, "tools/testing/kunit/kunit.py", action, f"--build_dir={out}", f"--kunitconfig={fragment}",
         f"--arch={arch}", f"--jobs={os.environ.get('CF_JOBS') or os.cpu_count()}", *options],
        cwd=os.environ["CF_TREE"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-1000:]
    return done.stdout


def parsed(arch: str, log: str) -> str:
    """What kunit.py makes of a console log."""
    file = Path(os.environ["CF_BUILD"]) / f"kunit-{arch}" / "console.log"
    file.write_text(log)
    done = subprocess.run([sys.executable, "tools/testing/kunit/kunit.py", "parse", str(file)],
                          cwd=os.environ["CF_TREE"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-1000:]
    return done.stdout


def booted_i386() -> str:
    """The console log of a boot. kunit.py run tries KVM first, which may be there and hang: QEMU's own emulation only."""
    kernel = Path(os.environ["CF_BUILD"]) / "kunit-i386" / "arch" / "x86" / "boot" / "bzImage"
    done = subprocess.run(
        ["qemu-system-i386", "-accel", "tcg", "-nodefaults", "-m", "256", "-kernel", str(kernel), "-append",
         "kunit.filter_glob=immediate console=ttyS0 kunit_shutdown=reboot", "-no-reboot", "-nographic",
         "-serial", "stdio"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=300)
    return done.stdout


def expect_fallback(printed: str) -> None:
    """All cases that do not need patched code pass, and the others say that they were skipped."""
    passed = len(re.findall(r"\[PASSED\] imv_test_", printed))
    skipped = len(re.findall(r"\[SKIPPED\] imv_test_", printed))
    assert passed == CASES and skipped > 0 and "[FAILED]" not in printed, printed


def test_fallback_um() -> None:
    """As a process of the host."""
    expect_fallback(kunit("um", "run", "--timeout=300", *COMPILER, "immediate"))


def test_fallback_i386() -> None:
    """x86 without sites."""
    kunit("i386", "build", *COMPILER)
    expect_fallback(parsed("i386", booted_i386()))


def test_fallback_arm64() -> None:
    """It compiles where nothing is known of it."""
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("no aarch64-linux-gnu-gcc (gcc-aarch64-linux-gnu of Debian)")
    kunit("arm64", "build", "--cross_compile=aarch64-linux-gnu-")
