# SPDX-License-Identifier: GPL-2.0
"""What immediate values may not be configured together with."""

import os
import subprocess
from pathlib import Path

import pytest


def configured(tree: Path, out: Path, *lines: str) -> set[str]:
    """The lines of the configuration that Kconfig makes of tinyconfig and `lines`, in the directory `out`."""
    make = ["make", "-s", "-C", str(tree), f"O={out}"]
    subprocess.run([*make, "tinyconfig"], check=True, capture_output=True)
    with (out / ".config").open("a", encoding="utf-8") as config:
        config.write("".join(f"{line}\n" for line in lines))
    subprocess.run([*make, "olddefconfig"], check=True, capture_output=True)
    return set((out / ".config").read_text().splitlines())


@pytest.fixture
def tree() -> Path:
    """The patched source tree."""
    return Path(os.environ["CF_TREE"])


def test_livepatch_or_kconfig(tree: Path, tmp_path: Path) -> None:
    """With livepatch, klp-build would clone functions without their stubs: Kconfig keeps immediate values out."""
    base = ["CONFIG_64BIT=y", "CONFIG_SMP=y", "CONFIG_MODULES=y", "CONFIG_SYSFS=y", "CONFIG_KALLSYMS=y",
            "CONFIG_KALLSYMS_ALL=y", "CONFIG_UNWINDER_ORC=y", "CONFIG_IMMEDIATE_VALUES=y"]
    livepatch = ["CONFIG_EXPERT=y", "CONFIG_FTRACE=y", "CONFIG_FUNCTION_TRACER=y", "CONFIG_DYNAMIC_FTRACE=y",
                 "CONFIG_LIVEPATCH=y"]
    assert "CONFIG_IMMEDIATE_VALUES=y" in configured(tree, tmp_path, *base)
    config = configured(tree, tmp_path, *base, *livepatch)
    assert {"CONFIG_LIVEPATCH=y", "CONFIG_KLP_BUILD=y"} <= config
    assert "CONFIG_IMMEDIATE_VALUES=y" not in config
