# SPDX-License-Identifier: GPL-2.0
"""make status says what a tree has, and make apply what can be switched on."""
import os
import subprocess
from pathlib import Path

import pytest

from tools.environment import ROOT
from tools.tree.small_series import Builder, write_files
from tools.tree.small_tree import kernel_files, module

KCONFIG = 'config FEATURE\n\tbool "A feature"\n\nconfig FEATURE_TEST\n\tbool "Its test"\n'
CODE = 'early_param("feature", set);\n\t\t.procname\t= "feature_min",\n'
pytestmark = pytest.mark.robust


def run(command: str, tree: Path, patches: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command of tools.tree, or tools.tree.status, on a tree. patches: the queue, "." for the
    series; more: variables."""
    program = [module(command)] + ([] if command == "status" else [command])
    env = {name: value for name, value in os.environ.items()
           if name not in ("GROUP", "FORCE", "DISCARD", "CONFIG", "QUEUE")}
    more |= {} if patches == Path() else {"QUEUE": str(patches)}
    return subprocess.run([ROOT / "tools/run", *program], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL,
                          env=env | {"KDIR": str(tree)} | more)


def test_status(tmp_path: Path) -> None:
    """Version, groups, options with .config's word, parameters and sysctls, and what was edited."""
    builder = Builder(tmp_path / "queue", kernel_files())
    builder.edit("lib: Prepare", {"lib/prepared.c": "int prepared;\n"}).group("immediate")
    builder.edit("lib: Add a feature", {"lib/Kconfig": KCONFIG, "lib/feature.c": CODE,
                                        "Documentation/admin-guide/sysctl/vm.rst": "feature_min\n"})
    builder.group("movsb").edit("lib: Add another", {"lib/other.c": "int other;\n"})
    builder.write()
    tree = write_files(tmp_path / "linux", kernel_files())
    assert "no patch of the series" in run("status", tree, builder.patches).stdout
    pushed = run("apply", tree, builder.patches).stdout
    assert ("scripts/config -e FEATURE\n" in pushed
            and "run time: feature= vm.feature_min\n" in pushed)
    (tree / "lib/other.c").write_text("int edited;\n")
    (tree / ".config").write_text("CONFIG_FEATURE=y\n")
    said = run("status", tree, builder.patches)
    assert said.returncode == 0
    for line in ("Linux 7.3.4", "immediate: 1 of 1 patches; FEATURE=y; feature= vm.feature_min",
                 "movsb: 1 of 1 patches\n", "edited since: lib/other.c"):
        assert line in said.stdout, said.stdout


def test_status_refuses(tmp_path: Path) -> None:
    """What is no kernel tree gets one line."""
    said = run("status", tmp_path, ROOT / "patches")
    assert said.returncode == 1 and said.stderr.splitlines() == [
        f"status: error: {tmp_path} is not a Linux source tree"]
