# SPDX-License-Identifier: GPL-2.0
"""Kernels with KUnit tests, made by kunit.py and booted in QEMU: for tests that take too long."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import environment


def directory(name: str) -> Path:
    """Return where the kernel of that name is built; it stays there for the next run."""
    path = environment.build() / f"kunit-{name}"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _kunit(*words: str, tree: Path | None = None) -> str:
    """Run kunit.py in a tree, by default the pushed one; return its output. It has to succeed."""
    done = subprocess.run(
        [sys.executable, "tools/testing/kunit/kunit.py", *words], cwd=tree or environment.tree(),
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-1000:]
    return done.stdout


def kunit(name: str, arch: str, action: str, fragments: Sequence[Path], *options: str,
          tree: Path | None = None) -> str:
    """Run kunit.py ACTION (build, run) for configuration fragments; return its output.

    tree: another one than the pushed one.
    """
    return _kunit(action, f"--build_dir={directory(name)}", f"--arch={arch}",
                  f"--jobs={environment.jobs()}",
                  *(f"--kunitconfig={fragment}" for fragment in fragments), *options, tree=tree)


def booted(name: str, qemu: str, tests: str, *options: str, megabytes: int = 256,
           seconds: int = 300) -> str:
    """Boot an x86 kernel with the suites that fit a pattern; returns its console log.

    kunit.py run tries KVM first, which may be there and hang: QEMU's own emulation only.
    """
    kernel = directory(name) / "arch/x86/boot/bzImage"
    words = f"kunit.filter_glob={tests} console=ttyS0 kunit_shutdown=reboot"
    return subprocess.run(
        [qemu, "-accel", "tcg", "-nodefaults", "-m", str(megabytes), "-kernel", str(kernel),
         "-append", words, "-no-reboot", "-nographic", "-serial", "stdio", *options],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        timeout=seconds).stdout


def parsed(name: str, log: str) -> str:
    """Return what kunit.py makes of a console log; it has to have results and no failure."""
    file = directory(name) / "console.log"
    file.write_text(log)
    return _kunit("parse", str(file))
