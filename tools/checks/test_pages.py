# SPDX-License-Identifier: GPL-2.0
"""The commands of using.rst and sending.rst do what the pages say; each has a test here or in
another folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import environment
from tools.environment import ROOT

# What a command begins with, and the test that runs it
TESTED = {"make mail SET=": "smtp_roundtrip", "make kselftests KDIR=": "kselftests_alone",
          "make apply KDIR=": "robust_groups", "make unapply KDIR=": "robust_groups",
          "make status KDIR=": "status", "make branch KDIR=": "robust_branch",
          "make -C /path/to/cache-footprint export": "export_refuses",
          "QUILT_PATCHES=": "robust_plain_push_with_fuzz",
          "make dist": "dist", "make apply": "reproduce_one_figure",
          "make bench SHORT=1": "reproduce_one_figure",
          "make results-add": "add", "make -C tools/testing/selftests": "plain_kselftest",
          "scripts/kconfig/merge_config.sh": "merge_config",
          "./tools/testing/kunit/kunit.py run": "kunit_run"}


def commands() -> list[str]:
    """Return the commands in the literal blocks of the two pages, continued lines joined."""
    found = []
    for name in ("using.rst", "sending.rst"):
        text = (ROOT / "Documentation" / name).read_text(encoding="utf-8")
        for block in re.findall(r"::\n\n((?: {4}.*\n)+)", text):
            joined = re.sub(r"\\\n\s*", "", block)
            found += [line.strip() for line in joined.splitlines()]
    return found


def command(start: str) -> str:
    """Return the one command that begins so."""
    (found,) = [line for line in commands() if line.startswith(start)]
    return found


def bash(text: str) -> str:
    """Run a command in the pushed tree; returns what it prints."""
    done = subprocess.run(["bash", "-c", text], cwd=environment.tree(), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def test_html(tmp_path: Path) -> None:
    """`make docs` makes the pages without a warning, and each link in them has a file."""
    done = subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q",
                           ROOT / "Documentation", tmp_path],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    pages = list(tmp_path.rglob("*.html"))
    gone = {(page.name, link) for page in pages
            for link in re.findall(r'(?:href|src)="([^"#:?]+)["#?]',
                                   page.read_text(encoding="utf-8"))
            if not (page.parent / link).exists()}
    assert len(pages) > 20 and not gone


@pytest.mark.full
def test_kernel_pages() -> None:
    """`make docs` makes the kernel's own pages, too,
    without a warning about one that the patches change."""
    done = subprocess.run([ROOT / "tools/docs.sh"], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("/kernel-docs/Documentation/output/") == 5


def test_commands_tested() -> None:
    """No command of the pages is without a test."""
    untested = [line for line in commands() if not line.startswith(tuple(TESTED))]
    assert commands() and not untested


def test_plain_kselftest(tmp_path: Path) -> None:
    """The kernel's own command installs all targets that it names."""
    words = command("make -C tools/testing/selftests")
    bash(f"{words} O={tmp_path}/build INSTALL_PATH={tmp_path}/installed FORCE_TARGETS=1")
    listed = subprocess.check_output([tmp_path / "installed/run_kselftest.sh", "-l"], text=True)
    targets = re.search(r'TARGETS="(.*?)"', words)
    assert targets and {line.partition(":")[0] for line in listed.split()} == set(
        targets[1].split())


def test_merge_config(tmp_path: Path) -> None:
    """The fragments are merged into one configuration without a contradiction."""
    (tmp_path / ".config").write_text("CONFIG_64BIT=y\n")
    line = command("scripts/kconfig/merge_config.sh").replace(" .config ", f" {tmp_path}/.config ")
    out = bash(line.replace("merge_config.sh ", f"merge_config.sh -m -O {tmp_path} "))
    assert "redefined" not in out, out
    merged = (tmp_path / ".config").read_text()
    assert "CONFIG_NONTEMPORAL_WRITE=y" in merged and "CONFIG_TASK_STRUCT_COLOUR=y" in merged


def test_kunit_config(tmp_path: Path) -> None:
    """KUnit's command gets a configuration with the suites that the page names."""
    words = command("./tools/testing/kunit/kunit.py run").rpartition(" ")[0]
    text = " ".join((ROOT / "Documentation/using.rst").read_text(encoding="utf-8").split())
    named = re.search(r"The other suites need (.*?) USERCOPY_KMSAN", text)
    assert named
    options = re.findall(r"[A-Z0-9_]{9,}", named[1])
    more = " ".join(f"--kconfig_add CONFIG_{name}=y" for name in options)
    bash(f"{words.replace(' run ', ' config ')} {more} --build_dir={tmp_path}/kunit")
    config = (tmp_path / "kunit/.config").read_text()
    assert len(options) > 8 and all(f"CONFIG_{name}=y" in config for name in options), options


@pytest.mark.full
def test_kunit_run(tmp_path: Path) -> None:
    """KUnit's command builds a kernel, boots it, and its suites pass.

    kunit.py has QEMU try KVM first, which may be there and hang: without KVM=1 it gets TCG only.
    """
    words = command("./tools/testing/kunit/kunit.py run")
    if os.environ.get("KVM") != "1":
        qemu = tmp_path / "bin/qemu-system-x86_64"
        qemu.parent.mkdir()
        qemu.write_text(f'#!/bin/bash\nexec {shutil.which(qemu.name)} "${{@/#kvm/tcg}}"\n')
        qemu.chmod(0o755)
        words = f"PATH={qemu.parent}:$PATH {words}"
    out = bash(words.replace(" run ",
                             f" run --jobs={os.cpu_count()} --build_dir={tmp_path}/kunit "))
    ran = re.search(r"Ran (\d+) tests: passed: \1$", out, re.M)
    assert ran and int(ran[1]) >= 5, out[-2000:]
