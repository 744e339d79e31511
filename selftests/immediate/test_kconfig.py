# SPDX-License-Identifier: GPL-2.0
"""What immediate values may not be configured together with."""

import os
import subprocess
from pathlib import Path

BASE = "64BIT SMP MODULES SYSFS KALLSYMS KALLSYMS_ALL UNWINDER_ORC IMMEDIATE_VALUES"
LIVEPATCH = "EXPERT FTRACE FUNCTION_TRACER DYNAMIC_FTRACE LIVEPATCH"


def configured(out: Path, options: str) -> set[str]:
    """The configuration that Kconfig makes of tinyconfig and options, in the directory `out`."""
    make = ["make", "-s", "-C", os.environ["CF_TREE"], f"O={out}"]
    subprocess.run([*make, "tinyconfig"], check=True, capture_output=True)
    with (out / ".config").open("a", encoding="utf-8") as config:
        config.write("".join(f"CONFIG_{option}=y\n" for option in options.split()))
    subprocess.run([*make, "olddefconfig"], check=True, capture_output=True)
    return set((out / ".config").read_text().splitlines())


def test_livepatch_or_kconfig(tmp_path: Path) -> None:
    """klp-build would clone functions without their stubs: not together with livepatch."""
    assert "CONFIG_IMMEDIATE_VALUES=y" in configured(tmp_path, BASE)
    config = configured(tmp_path, f"{BASE} {LIVEPATCH}")
    assert {"CONFIG_LIVEPATCH=y", "CONFIG_KLP_BUILD=y"} <= config
    assert "CONFIG_IMMEDIATE_VALUES=y" not in config
