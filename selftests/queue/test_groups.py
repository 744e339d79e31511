# SPDX-License-Identifier: GPL-2.0
"""The repository is organised by groups: a group is added by files only, no tool names one, no test id is lost."""

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

from selftests import groups, jobs, results_file
from selftests.conftest import part_of
from selftests.queue.checks_repo import repo_files
from selftests.vm import boots

ROOT = Path(os.environ.get("CF_ROOT") or groups.ROOT)
TOOLS = ("Makefile", "scripts/", ".ci/", *(f"selftests/{name}" for name in (
    "vm/", "queue/", "identity/", "model/", "bench/", "results/", "conftest.py", "groups.py", "jobs.py",
    "proofs.py", "results_file.py", "kunit_kernel.py")))
# A parameter of the workload writers has a group's name
KNOWN = ("selftests/model/workloads.py", "selftests/model/guest/writers.c")
PAGE = ".. SPDX-License-Identifier: GPL-2.0\n\nA toy\n=====\n"
HEADER = "From: A Person <person@example.org>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\nSubject: [PATCH] {}\n\nAdd it.\n---\n"
KCONFIG = "config TOY\n\tbool \"A toy\"\n\thelp\n\t  It plays.\n"
TOY = {
    "patches/toy-add-it.patch": HEADER.format("toy: Add it") + "--- /dev/null\n+++ b/lib/toy.c\n@@ -0,0 +1 @@\n+int toy;\n",
    "patches/toy-make-it-an-option.patch": HEADER.format("toy: Make it an option")
    + "--- /dev/null\n+++ b/lib/Kconfig.toy\n@@ -0,0 +1,4 @@\n" + "".join(f"+{line}\n" for line in KCONFIG.splitlines()),
    "selftests/toy/options.config": "CONFIG_TOY=y\n",
    "selftests/toy/debug.config": "CONFIG_TOY_DEBUG=y\n",
    "selftests/toy/kselftests": "toys N=1\n",
    "selftests/toy/ids.txt": "kunit/toy. toy/\n",
    "selftests/toy/boots": "default | + | | kselftest=toys\ntoy_on | vm | toy=1 | kunit\n",
    "selftests/toy/jobs": "toy_slow | 5 | test=test_toy.py | it plays for long\n",
    "selftests/toy/test_toy.py": "import pytest\n\n\n@pytest.mark.full\ndef test_play() -> None:\n    pass\n",
    "Documentation/toy.rst": PAGE,
}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A clone with a group of two patches more: its files, and its banner in the series."""
    clone = tmp_path / "clone"
    for path in repo_files(ROOT):
        name = path.relative_to(ROOT)
        if name.parts[0] in ("Makefile", "scripts", "selftests", "configs", "series", "patches", "pytest.ini"):
            (clone / name.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, clone / name, follow_symlinks=False)
    for name, text in TOY.items():
        assert not (clone / name).exists()
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(text)
    with (clone / "series").open("a") as series:
        series.write("\n# --- group toy: it plays ---\ntoy-add-it.patch\ntoy-make-it-an-option.patch\n")
    return clone


def said(clone: Path, *words: str, **variables: str) -> str:
    """Return what a command prints in a clone; a status other than 0 fails the test."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("CF_", "MAKE", "MFLAGS", "GROUP"))}
    done = subprocess.run(words, cwd=clone, env={**env, **variables}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.static
def test_toy_group(toy: Path, tmp_path: Path) -> None:
    """It appears in help, apply, configuration, kselftests, boots, ids, tests and jobs; the other groups stay."""
    listed = said(toy, "make", "help")
    assert re.search(r"^  toy +it plays$", listed, re.M) and re.search(r"^  toy_slow +5  it plays for long$", listed, re.M)
    assert re.search(r"^  group_toy ", listed, re.M)
    lines = said(toy, "make", "-s", "export", f"DIR={tmp_path}/exported", GROUP="toy").split()
    apply = [Path(line).name for line in lines]
    assert apply[-2:] == ["toy-add-it.patch", "toy-make-it-an-option.patch"]

    tree = tmp_path / "tree"
    (tree / ".pc").mkdir(parents=True)
    (tree / ".pc/applied-patches").write_text("\n".join(apply) + "\n")
    made = tmp_path / "made"
    script = [sys.executable, "selftests/groups.py"]
    said(toy, *script, "fragments", str(tree), str(made), "all-on", "all-off", "debug")
    assert (made / "all-on.config").read_text() == "CONFIG_TOY=y\n"
    assert "# CONFIG_TOY is not set\n" in (made / "all-off.config").read_text()
    debug = (made / "debug.config").read_text()
    assert debug.startswith((ROOT / "configs/debug.config").read_text()) and debug.endswith("CONFIG_TOY_DEBUG=y\n")
    assert said(toy, *script, "targets", str(tree)).split() == []
    (tree / "tools/testing/selftests/toys").mkdir(parents=True)
    assert said(toy, *script, "targets", str(tree)).split() == ["toys"]
    assert (tree / ".pc/applied-patches").write_text((toy / "series").read_text())
    said(toy, *script, "fragments", str(tree), str(made), "all-on")
    assert (made / "all-on.config").read_text().endswith("CONFIG_TOY=y\n") and made.joinpath("all-on.config").read_text(
    ) != "CONFIG_TOY=y\n"

    scheduled = [sys.executable, "-m", "selftests.vm.boots", "--list"]
    assert said(toy, *scheduled, GROUP="toy").split("\n")[:-1] == ["default vm", "toy_on vm"]
    both = said(toy, *scheduled).splitlines()
    assert set(said(ROOT, *scheduled).splitlines()) | {"toy_on vm"} == set(both)
    collected = said(toy, sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider",
                     "selftests/toy", PYTHONDONTWRITEBYTECODE="1")
    assert "selftests/toy/test_toy.py::test_play" in collected
    assert "/toy\n" in said(toy, "bash", "-c", ". scripts/lib.sh; echo $KERNELS; echo $RESULTS", GROUP="toy")


def words_of(path: Path) -> str:
    """Return a file without comments and docstrings: what a program reads of it."""
    text = path.read_text(errors="replace")
    if path.suffix != ".py":
        return re.sub(r"(?s)/\*.*?\*/" if path.suffix in (".c", ".h") else r"(?m)^\s*#.*$|(?<=\s)## .*$", "", text)
    kept = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        docstring = token.type == tokenize.STRING and token.line.lstrip()[:4].strip("rbf").startswith('"""')
        if token.type in (tokenize.STRING, tokenize.NAME) and not docstring:
            kept.append(token.string)
    return "\n".join(kept)


def named(path: Path, names: list[str]) -> list[str]:
    """Return the groups that a program names: as a quoted word, as a part of a path, in shell and make as a word."""
    text = words_of(path)
    around = r"(?<![\w.-]){0}(?![\w.-])" if path.suffix in (".sh", "") else r"(?:[\"'/]{0}[\"'/]|\b{0}/)"
    return [name for name in names if re.search(around.format(re.escape(name)), text)]


@pytest.mark.static
def test_no_tool_names_a_group() -> None:
    """A tool finds groups in the banners and folders; its tests may take any name."""
    names = [name for name in groups.chosen(groups.queue()) if (groups.folder(name) / "options.config").is_file()]
    tools = {str(path.relative_to(ROOT)): path for path in repo_files(ROOT)
             if not path.name.startswith("test_") and path.suffix not in (".txt", ".config")}
    found = [f"{name}: {group}" for name, path in tools.items()
             if name.startswith(TOOLS) and not name.startswith(KNOWN) for group in named(path, names)]
    assert not found


@pytest.mark.static
@pytest.mark.parametrize("name, text, expected", [
    ("a.py", '"""toy"""\n# toy\nx = "a toy"\n', []), ("a.py", 'x = ["toy"]\n', ["toy"]),
    ("a.py", 'x = "selftests/toy/a"\n', ["toy"]), ("a.sh", "# toy\n", []), ("a.sh", "run toy x\n", ["toy"]),
    ("Makefile", "a: ## toy\n\ttoys toy-a\n", []), ("Makefile", "\tmodel.sh toy\n", ["toy"])])
def test_named_groups_are_found(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    (tmp_path / name).write_text(text)
    assert named(tmp_path / name, ["toy"]) == expected


def collected(*words: str) -> list[tuple[str, str]]:
    """Return (file below selftests/, function) of each test that pytest collects."""
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *words,
                           "selftests"], cwd=ROOT, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-1000:]
    return sorted(set(re.findall(r"^selftests/(\S+?)::(\w+)", done.stdout, re.M)))


@pytest.mark.static
def test_jobs_cover_what_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test that is marked full and each boot of make test-full is in exactly one slow job."""
    monkeypatch.delenv("GROUP", raising=False)
    wanted = {f"{file}::{name}" for file, name in collected("-m", "full")}
    wanted |= {f"boot={boot.name}" for boot in boots.read_tables(groups.chosen(groups.queue())).values()
               if boot.when == "full"}
    found = []
    for job in jobs.read_jobs().values():
        assert 0 < job.minutes <= 60, job
        for word in job.work:
            kind, _, what = word.partition("=")
            test = f"{job.folder.name}/{what}"
            found += [word] if kind == "boot" else [
                one for one in wanted if kind == "test" and (one == test or one.startswith(f"{test}::"))]
    assert sorted(found) == sorted(wanted)


def renamed(name: str, renames: list[tuple[str, str]]) -> str:
    """Return what an id is called now."""
    for old, new in renames:
        if old.endswith("*") and name.startswith(old[:-1]):
            return new[:-1] + name[len(old) - 1:]
        if name == old:
            return new
    return name


def read_renames() -> list[tuple[str, str]]:
    """Return (old, new) of selftests/renames.txt."""
    lines = [line.split() for line in (ROOT / "selftests/renames.txt").read_text().splitlines()
             if line and not line.startswith("#")]
    assert all(len(words) == 2 and words[0].endswith("*") == words[1].endswith("*") for words in lines), lines
    return [(old, new) for old, new in lines]


def test_ids_kept() -> None:
    """Each id that there was before the groups had folders is there, under its name or its new one.

    It is a test that pytest collects, a boot of the tables, or a result that a boot of this run gave.
    """
    parts = sorted((Path(os.environ["CF_RESULTS"]) / "parts").glob("vm-*.json"))
    tables = boots.read_tables(groups.chosen(groups.queue())).values()
    missing = {f"vm-{boot.name}.json" for boot in tables if boot.when == "test"} - {path.name for path in parts}
    if missing:
        pytest.skip(f"not all boots ran before: {len(missing)} have no results, make test makes them")
    ids = {result.id for path in parts for result in results_file.read(path)} | {f"vm/boot_{boot.name}" for boot in tables}
    ids |= {f"{part_of(ROOT / 'selftests' / file)}/{name.removeprefix('test_')}" for file, name in collected()}
    ids |= {"identity/off_means_off", "-"}
    lines = [line.split() for line in (ROOT / "selftests/ids-2026-11-22.txt").read_text().splitlines()[1:]]
    old = [f"{part}/{name}" for part, *names in lines for name in names]
    renames = read_renames()
    assert len(old) > 400 and not [name for name in old if renamed(name, renames) not in ids]
    stale = [was for was, _ in renames if not any(renamed(name, [(was, "")]) != name for name in old)]
    assert not stale, f"selftests/renames.txt: no id was called so: {stale}"


@pytest.mark.static
def test_renames() -> None:
    """The first line that fits renames; * stands for the rest of an id."""
    rules = [("a/one", "b/two"), ("a/*", "c/*")]
    assert [renamed(name, rules) for name in ("a/one", "a/ones", "b/one")] == ["b/two", "c/ones", "b/one"]
    assert read_renames()
