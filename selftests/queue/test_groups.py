# SPDX-License-Identifier: GPL-2.0
"""A group is added by files only, and no tool names one."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from selftests import groups, jobs
from selftests.queue.checks_repo import repo_files
from selftests.vm import boots

ROOT = Path(os.environ.get("CF_ROOT") or groups.ROOT)
TOOLS = ("Makefile", "scripts/", ".ci/", *(f"selftests/{name}" for name in (
    "vm/", "queue/", "identity/", "model/", "bench/", "results/", "conftest.py", "groups.py",
    "jobs.py", "proofs.py", "results_file.py", "kunit_kernel.py")))
# A parameter of the workload writers has a group's name
KNOWN = ("selftests/model/workloads.py", "selftests/model/guest/writers.c")
CLONED = ("Makefile", "scripts", "selftests", "configs", "series", "patches", "pytest.ini")
PATCH = """From: A Person <person@example.org>
Date: Thu, 1 Jan 2026 00:00:00 +0000
Subject: [PATCH] {}

Add it.
---
--- /dev/null
+++ b/lib/{}
"""
PATCHES = ["toy-add-it.patch", "toy-make-it-an-option.patch"]
TOY = {
    f"patches/{PATCHES[0]}": PATCH.format("toy: Add it", "toy.c") + "@@ -0,0 +1 @@\n+int toy;\n",
    f"patches/{PATCHES[1]}": PATCH.format("toy: Make it an option", "Kconfig.toy")
    + '@@ -0,0 +1,4 @@\n+config TOY\n+\tbool "A toy"\n+\thelp\n+\t  It plays.\n',
    "selftests/toy/options.config": "CONFIG_TOY=y\n",
    "selftests/toy/debug.config": "CONFIG_TOY_DEBUG=y\n",
    "selftests/toy/kselftests": "toys N=1\n",
    "selftests/toy/ids.txt": "kunit/toy. toy/\n",
    "selftests/toy/boots": "default | + | | kselftest=toys\ntoy_on | vm | toy=1 | kunit\n",
    "selftests/toy/jobs": "toy_slow | 5 | test=test_toy.py | it plays for long\n",
    "selftests/toy/test_toy.py": "import pytest\n\n\n@pytest.mark.full\n"
                                 "def test_play() -> None:\n    pass\n",
    "Documentation/toy.rst": ".. SPDX-License-Identifier: GPL-2.0\n\nA toy\n=====\n",
}
COLLECT = "-m pytest -q --collect-only -p no:cacheprovider".split()


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A clone with a group of two patches more: its files, and its banner in the series."""
    clone = tmp_path / "clone"
    for path in repo_files(ROOT):
        name = path.relative_to(ROOT)
        if name.parts[0] in CLONED:
            (clone / name.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, clone / name, follow_symlinks=False)
    for name, text in TOY.items():
        assert not (clone / name).exists()
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(text)
    with (clone / "series").open("a") as series:
        series.write("\n".join(["", "# --- group toy: it plays ---", *PATCHES, ""]))
    return clone


def said(clone: Path, *words: object, **variables: str) -> str:
    """Return what a command prints in a clone; a status other than 0 fails the test."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("CF_", "MAKE", "MFLAGS", "GROUP"))}
    done = subprocess.run([str(word) for word in words], cwd=clone, stdin=subprocess.DEVNULL,
                          env={**env, "PYTHONDONTWRITEBYTECODE": "1", **variables},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-1000:]
    return done.stdout


@pytest.mark.static
def test_toy_group(toy: Path, tmp_path: Path) -> None:
    """Every command knows it: help, apply, configuration, kselftests, boots, ids, tests, jobs."""
    listed = said(toy, "make", "help")
    for line in (r"toy +it plays$", r"toy_slow +5  it plays for long$", "group_toy "):
        assert re.search(f"^  {line}", listed, re.M), line
    said(toy, "make", "-s", "export", f"DIR={tmp_path}/exported", GROUP="toy")
    pushed = [line.partition("/")[2] for line in (tmp_path / "series").read_text().split()]
    assert pushed[-2:] == PATCHES

    tree, made = tmp_path / "tree", tmp_path / "made"
    (tree / ".pc").mkdir(parents=True)
    (tree / ".pc/applied-patches").write_text("\n".join(pushed) + "\n")
    script = [sys.executable, "selftests/groups.py"]
    said(toy, *script, "fragments", tree, made, "all-on", "all-off", "debug")
    assert (made / "all-on.config").read_text() == "CONFIG_TOY=y\n"
    assert "# CONFIG_TOY is not set\n" in (made / "all-off.config").read_text()
    debug = (ROOT / "configs/debug.config").read_text() + "CONFIG_TOY_DEBUG=y\n"
    assert (made / "debug.config").read_text() == debug
    assert said(toy, *script, "targets", tree).split() == []
    (tree / "tools/testing/selftests/toys").mkdir(parents=True)
    assert said(toy, *script, "targets", tree).split() == ["toys"]
    (tree / ".pc/applied-patches").write_text((toy / "series").read_text())
    said(toy, *script, "fragments", tree, made, "all-on")
    assert (made / "all-on.config").read_text().endswith("\nCONFIG_TOY=y\n")

    scheduled = [sys.executable, "-m", "selftests.vm.boots", "--list"]
    assert said(toy, *scheduled, GROUP="toy").splitlines() == ["default vm", "toy_on vm"]
    both = said(ROOT, *scheduled).splitlines() + ["toy_on vm"]
    assert set(said(toy, *scheduled).splitlines()) == set(both)
    tests = said(toy, sys.executable, *COLLECT, "selftests/toy")
    assert "selftests/toy/test_toy.py::test_play" in tests
    echo = ". scripts/lib.sh; echo $KERNELS; echo $RESULTS"
    assert "/toy\n" in said(toy, "bash", "-c", echo, GROUP="toy")


def words_of(path: Path) -> str:
    """Return a file without comments and docstrings: what a program reads of it."""
    text = path.read_text(errors="replace")
    if path.suffix in (".c", ".h"):
        return re.sub(r"(?s)/\*.*?\*/", "", text)
    if path.suffix != ".py":
        return re.sub(r"(?m)^\s*#.*$|(?<=\s)## .*$", "", text)
    return "\n".join(
        token.string for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME or token.type == tokenize.STRING
        and not token.line.lstrip()[:4].strip("rbf").startswith('"""'))


def named(path: Path, names: list[str]) -> list[str]:
    """Return the groups that a program names: as a quoted word, part of a path, word of shell."""
    text = words_of(path)
    shell = path.suffix in (".sh", "")
    around = r"(?<![\w.-]){0}(?![\w.-])" if shell else r"(?:[\"'/]{0}[\"'/]|\b{0}/)"
    return [name for name in names if re.search(around.format(re.escape(name)), text)]


@pytest.mark.static
def test_no_tool_names_a_group() -> None:
    """A tool finds groups in the banners and folders; its tests may take any name."""
    names = [name for name in groups.chosen(groups.queue())
             if (groups.folder(name) / "options.config").is_file()]
    tools = {str(path.relative_to(ROOT)): path for path in repo_files(ROOT)
             if not path.name.startswith("test_") and path.suffix not in (".txt", ".config")}
    assert not [f"{name}: {group}" for name, path in tools.items()
                if name.startswith(TOOLS) and not name.startswith(KNOWN)
                for group in named(path, names)]


@pytest.mark.static
@pytest.mark.parametrize("name, text, expected", [
    ("a.py", '"""toy"""\n# toy\nx = "a toy"\n', []), ("a.py", 'x = ["toy"]\n', ["toy"]),
    ("a.py", 'x = "selftests/toy/a"\n', ["toy"]), ("a.sh", "# toy\n", []),
    ("a.sh", "run toy x\n", ["toy"]), ("Makefile", "a: ## toy\n\ttoys toy-a\n", []),
    ("Makefile", "\tmodel.sh toy\n", ["toy"])])
def test_named_groups_are_found(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    (tmp_path / name).write_text(text)
    assert named(tmp_path / name, ["toy"]) == expected


def collected(*words: str) -> list[tuple[str, str]]:
    """Return (file below selftests/, function) of each test that pytest collects."""
    out = said(ROOT, sys.executable, *COLLECT, *words, "selftests")
    return sorted(set(re.findall(r"^selftests/(\S+?)::(\w+)", out, re.M)))


@pytest.mark.static
def test_jobs_cover_what_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test that is marked full and each boot of make test-full is in exactly one slow job."""
    monkeypatch.delenv("GROUP", raising=False)
    tests = [f"{file}::{name}" for file, name in collected("-m", "full")]
    tables = boots.read_tables(groups.chosen(groups.queue())).values()
    found = []
    for job in jobs.read_jobs().values():
        assert 0 < job.minutes <= 60, job
        read = "\n".join(jobs.inputs(job))
        assert f"selftests/{job.folder.name}/jobs" in read and "results.rst" not in read, job
        for kind, _, what in (word.partition("=") for word in job.work):
            test = f"{job.folder.name}/{what}"
            found += [f"boot={what}"] if kind == "boot" else []
            found += [one for one in tests if kind == "test" and f"{one}::".startswith(f"{test}::")]
    assert sorted(found) == sorted(
        [*tests, *(f"boot={boot.name}" for boot in tables if boot.when == "full")])
