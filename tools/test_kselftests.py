# SPDX-License-Identifier: GPL-2.0
"""make kselftests KDIR=: the series' kselftests in a patched tree, without our configuration; and
make ktap."""

import json
import os
import subprocess
from pathlib import Path

from tools import environment, groups
from tools.environment import ROOT


def test_kselftests_alone(tmp_path: Path) -> None:
    """They build outside of the tree, scripts are executable, and one runs on any kernel."""
    tree, where = environment.tree(), tmp_path / "kselftest"
    env = os.environ | {"KDIR": str(tree), "OUT": str(where), "BUILD": str(tmp_path / "build")}
    env.pop("GROUP", None)
    done = subprocess.run([ROOT / "tools/kselftests.sh"], env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = subprocess.check_output(["./run_kselftest.sh", "-l"], cwd=where, text=True).split()
    targets = groups.kselftests(group.name for group in groups.series().groups)
    assert {test.partition(":")[0] for test in listed} == set(targets)
    scripts = list(where.rglob("*.sh"))
    assert len(scripts) > 2 and all(os.access(script, os.X_OK) for script in scripts)
    ran = subprocess.run(["./run_kselftest.sh", "-c", "x86/copyloops"], cwd=where, text=True,
                         env=os.environ | {"KSELFTEST_COPYLOOPS_ARGS": "-q"},
                         stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert "ok 1 selftests: x86/copyloops: copyloops" in ran.stdout.replace("not ok", "failed")
    assert [path.name for path in tmp_path.iterdir() if path != where] == ["build"]


def test_kselftests_out(tmp_path: Path) -> None:
    """OUT= with files of the user is refused; a failed build leaves an earlier result and no other
    file."""
    where, tree = tmp_path / "kselftest", tmp_path / "linux"
    target = tree / "tools/testing/selftests/x86/copyloops"
    target.mkdir(parents=True)
    (tree / "arch").mkdir()
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\n")
    env = os.environ | {"KDIR": str(tree), "OUT": str(where), "BUILD": str(tmp_path / "build")}
    env.pop("GROUP", None)

    def refused(why: str, **given: str) -> None:
        done = subprocess.run([ROOT / "tools/kselftests.sh"], env=env | given, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert done.returncode == 1 and why in done.stderr, done.stdout + done.stderr
        assert len(done.stderr.splitlines()) == 1

    where.mkdir()
    (where / "thesis.txt").touch()
    refused("takes a new or an empty directory")
    refused("takes a new or an empty directory", OUT=str(where / "thesis.txt"))
    (where / ".cache-footprint").touch()
    refused("do not build")
    assert (where / "thesis.txt").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"kselftest", "linux", "build"}
    refused("OUT= is for KDIR=", KDIR="")
    refused("no path with a space", OUT=str(tmp_path / "a b"))
    refused("not a Linux source tree", KDIR=str(tmp_path))


def test_ktap(tmp_path: Path) -> None:
    """Passes, failures with their reason and skips; a run that is not there is an error."""
    words = [ROOT / "tools/run", "tools.ktap"]
    env = os.environ | {"RESULTS": str(tmp_path)}
    none = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert none.returncode == 1 and none.stderr.startswith("ktap: error: ")
    rows = [{"id": f"a/{status}", "status": status, "reason": reason}
            for status, reason in (("pass", ""), ("fail", "a\nb"), ("skip", "no fio"))]
    (tmp_path / "tests.json").write_text(json.dumps({"series": "x", "tests": rows}))
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout.splitlines() == [
        "KTAP version 1", "1..3", "ok 1 a/pass", "# a b", "not ok 2 a/fail",
        "ok 3 a/skip # SKIP no fio"]
