# SPDX-License-Identifier: GPL-2.0
"""Each group alone: `make GROUP=x && make test GROUP=x` in a clean clone builds, boots and passes.

The clone of HEAD is BUILD/group-x, removed when it passed; downloads, ccache and verdicts are
those of CACHE.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import environment, groups
from tools.vm import tables

pytestmark = pytest.mark.full
PASSED_ON = (
    "PATH HOME CC HOSTCC LLVM LINUX_TARBALL LINUX_SHA256 KVM FRESH CCACHE_DIR "
    "CCACHE_MAXSIZE XDG_CACHE_HOME DEBIAN_FRONTEND PIP_INDEX_URL DEBIAN_MIRROR INSTALL JOBS "
    "http_proxy https_proxy no_proxy").split()


def must_make(where: Path, *words: str) -> None:
    """Run make in a clone; a failure shows the last lines of it."""
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    env["CACHE"] = str(environment.cache())
    done = subprocess.run(
        ["make", *words], cwd=where, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace")
    assert done.returncode == 0, f"make {words}: {done.returncode}: {done.stdout[-3000:]}"


def passed(where: Path, group: str) -> set[str]:
    """Build, boot and test a group in a clone; return the ids that passed."""
    must_make(where, f"GROUP={group}")
    must_make(where, "test", f"GROUP={group}")
    tests = json.loads((where / "build/results" / group / "tests.json").read_text())["tests"]
    return {row["id"] for row in tests if row["status"] == "pass"}


def check_of(group: str) -> Callable[[], None]:
    """Return the test of a group."""
    def test() -> None:
        where = environment.build() / f"group-{group}"
        shutil.rmtree(where, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", groups.ROOT, where], check=True)
        ids = passed(where, group)
        wanted = tables.chosen(tables.read_tables([group]), [], "test", [group])
        assert {f"vm/boot_{boot.name}" for boot in wanted} <= ids
        assert any(name.startswith(f"{group}/") for name in ids)
        shutil.rmtree(where)

    test.__doc__ = f"The group {group}."
    return test


for name in groups.chosen(groups.series()):
    if groups.folder(name).is_dir():
        globals()[f"test_group_{name}"] = check_of(name)
del name
