# SPDX-License-Identifier: GPL-2.0
"""Each group alone: `make GROUP=x && make test GROUP=x` in a clean clone builds, boots and passes.

The clone is CF_BUILD/group-x, removed when it passed; downloads, ccache and verdicts are those of
CF_CACHE.
"""

import difflib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from selftests import groups
from selftests.queue.checks_repo import repo_files
from selftests.vm import boots

pytestmark = pytest.mark.full
PASSED_ON = (
    "PATH HOME CC HOSTCC LLVM LINUX_TARBALL KERNEL_MIRROR LINUX_SHA256 KVM FRESH CCACHE_DIR "
    "CCACHE_MAXSIZE XDG_CACHE_HOME DEBIAN_FRONTEND PIP_INDEX_URL DEBIAN_MIRROR INSTALL JOBS "
    "http_proxy https_proxy no_proxy").split()


def clone(where: Path) -> None:
    """Make a repository with one commit of the files of this one."""
    shutil.rmtree(where, ignore_errors=True)
    for path in repo_files(groups.ROOT):
        target = where / path.relative_to(groups.ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)
    for words in (["init", "-q"], ["add", "-A"],
                  ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=where, check=True, stdin=subprocess.DEVNULL)


def must_make(where: Path, *words: str) -> None:
    """Run make in a clone; a failure shows the last lines of it."""
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    env["CACHE"] = os.environ.get("CF_CACHE") or str(Path.home() / ".cache/cache-footprint")
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
        where = Path(os.environ["CF_BUILD"]) / f"group-{group}"
        clone(where)
        ids = passed(where, group)
        wanted = boots.chosen(boots.read_tables([group]), [], "test", [group])
        assert {f"vm/boot_{boot.name}" for boot in wanted} <= ids
        assert any(name.startswith(f"{group}/") for name in ids)
        shutil.rmtree(where)

    test.__doc__ = f"The group {group}."
    return test


for name in groups.chosen(groups.queue()):
    if groups.folder(name).is_dir():
        globals()[f"test_group_{name}"] = check_of(name)
del name

# A group that is made here: a suite of KUnit that it adds, and the option for it
TOY_C = """// SPDX-License-Identifier: GPL-2.0
/* A toy. */

#include <kunit/test.h>

static void toy_plays(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 1 + 1, 2);
}

static struct kunit_case toy_cases[] = {
	KUNIT_CASE(toy_plays),
	{}
};

static struct kunit_suite toy_suite = {
	.name = "plaything",
	.test_cases = toy_cases,
};

kunit_test_suite(toy_suite);
"""
TOY_KCONFIG = """
config PLAYTHING
	bool "A toy"
	depends on KUNIT=y
	help
	  Build a toy that plays when the kernel boots. It has one test
	  and nothing else.

	  If unsure, say N.
"""
TOY = {
    "selftests/plaything/options.config": "CONFIG_PLAYTHING=y\n",
    "selftests/plaything/ids.txt": "kunit/plaything. plaything/\n",
    "selftests/plaything/boots": "plaything_on | vm | plaything=1 | kunit\n",
    "Documentation/plaything.rst": ".. SPDX-License-Identifier: GPL-2.0\n\nA toy\n=====\n",
}


def toy_patch(subject: str, tree: Path, added: dict[str, str]) -> str:
    """Return a patch that adds text at the end of files of a tree, or new files."""
    text = ("From: A Person <person@example.org>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\n"
            f"Subject: [PATCH] {subject}\n\nThere is no toy. Add one.\n---\n"
            "Patch-mainline: no, a toy\n\n")
    for name, more in added.items():
        path = tree / name
        old = path.read_text().splitlines(keepends=True) if path.is_file() else []
        text += "".join(difflib.unified_diff(
            old, old + more.splitlines(keepends=True), f"a/{name}" if old else "/dev/null",
            f"b/{name}"))
    return text


def test_new_group() -> None:
    """A group of two patches that is added by adding files builds, boots and has results."""
    where = Path(os.environ["CF_BUILD"]) / "group-new"
    clone(where)
    must_make(where, "base")
    tree = where / "build/linux"
    option = {"lib/Kconfig": TOY_KCONFIG, "lib/Makefile": "\nobj-$(CONFIG_PLAYTHING) += plaything.o\n"}
    patches = {
        "lib-add-a-toy.patch": toy_patch("lib: Add a toy", tree, {"lib/plaything.c": TOY_C}),
        "lib-make-the-toy-an-option.patch":
            toy_patch("lib: Make the toy an option", tree, option)}
    for name, text in {**TOY, **{f"patches/{key}": patches[key] for key in patches}}.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(text)
    with (where / "series").open("a") as series:
        series.write("\n# --- group plaything: it plays ---\n" + "\n".join(patches) + "\n")
    with (where / "README.md").open("a") as readme:
        readme.write("\nPLAYTHING is a toy.\n")
    must_make(where, "refresh")
    assert {"vm/boot_plaything_on", "plaything/toy_plays"} <= passed(where, "plaything")
    shutil.rmtree(where)
