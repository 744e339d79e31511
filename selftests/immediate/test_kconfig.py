# SPDX-License-Identifier: GPL-2.0
"""What immediate values can be configured together with."""

import subprocess
from pathlib import Path

import pytest

from tools import environment
from tools.environment import ROOT

BASE = "64BIT SMP MODULES SYSFS KALLSYMS KALLSYMS_ALL UNWINDER_ORC IMMEDIATE_VALUES"
LIVEPATCH = "EXPERT FTRACE FUNCTION_TRACER DYNAMIC_FTRACE LIVEPATCH"


def configured(out: Path, text: str) -> set[str]:
    """The configuration that Kconfig makes of settings, all others off, in the directory `out`."""
    make = ["make", "-s", "-C", environment.tree(), f"O={out}"]
    subprocess.run([*make, "tinyconfig"], check=True, capture_output=True)
    with (out / ".config").open("a", encoding="utf-8") as config:
        config.write(text)
    subprocess.run([*make, "olddefconfig"], check=True, capture_output=True)
    return set((out / ".config").read_text().splitlines())


def test_livepatch_kconfig(tmp_path: Path) -> None:
    """Distributions switch LIVEPATCH on: neither option takes the other away."""
    options = "".join(f"CONFIG_{option}=y\n" for option in f"{BASE} {LIVEPATCH}".split())
    config = configured(tmp_path, options)
    assert {"CONFIG_LIVEPATCH=y", "CONFIG_KLP_BUILD=y", "CONFIG_IMMEDIATE_VALUES=y"} <= config


@pytest.mark.full
def test_debian_kconfig(tmp_path: Path) -> None:
    """Debian's configuration takes the option, and loses no other one by it."""
    debian = subprocess.run([ROOT / "tools/tree/debian-config.sh", "amd64"], check=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout
    without, config = (configured(tmp_path / name, debian + more) for name, more in (
        ("without", ""), ("with", "CONFIG_IMMEDIATE_VALUES=y\n")))
    assert {"CONFIG_LIVEPATCH=y", "CONFIG_IMMEDIATE_VALUES=y"} <= config
    changed = {line for line in without ^ config if "IMMEDIATE" not in line}
    assert not changed
