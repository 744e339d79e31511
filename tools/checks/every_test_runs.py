# SPDX-License-Identifier: GPL-2.0
"""make test and the slow jobs leave a test or a boot out, or have it twice."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools import environment, groups
from tools.environment import ROOT
from tools.jobs import read_jobs
from tools.vm import tables


def run_pytest(root: Path, *words: str) -> tuple[int, str]:
    """Run pytest in a copy of the repository; returns its status and what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    env |= {"RESULTS": str(root / "results"), "KDIR": str(environment.tree())}
    done = subprocess.run([sys.executable, "-B", "-m", "pytest", *words], cwd=root, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_every_test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stages of test.sh and lint.sh, and the slow jobs, have each test that pytest finds, and
    none twice; so has one that is new in a folder that had none, and it fails its stage. The jobs
    have each boot of make test-full once."""
    monkeypatch.delenv("GROUP", raising=False)
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, symlinks=True,
                    ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
    planted = copy / "tools/figures/test_planted.py"
    planted.write_text("def test_planted():\n    assert 0\n")
    scripts = "".join((ROOT / f"tools/{name}.sh").read_text() for name in ("test", "lint"))
    stages = sorted(set(re.findall(r"--stage=(\w+)", scripts)))

    def collect(*words: str) -> list[str]:
        return re.findall(r"^\S+::.+$", run_pytest(copy, "--collect-only", *words)[1], re.M)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = dict(zip(stages, pool.map(lambda stage: collect(f"--stage={stage}"), stages)))
    jobs = read_jobs().values()
    named = [word.removeprefix(f"{ROOT}/") for job in jobs for word in job.tests()]
    slow = [test for test in collect("--stage=full") for name in named
            if f"{test.partition('[')[0]}::".startswith(f"{name}::")]
    assert sorted([*sum(found.values(), []), *slow]) == sorted(collect())
    stage, = (stage for stage, tests in found.items()
              if any("test_planted" in test for test in tests))
    code, said = run_pytest(copy, f"--stage={stage}", str(planted))
    assert code == 1 and "1 failed" in said, said
    boots = tables.read_tables(groups.chosen(groups.series())).values()
    assert (sorted(word for job in jobs for word in job.work if word.startswith("boot="))
            == sorted(f"boot={boot.name}" for boot in boots if boot.row.when == "full"))
    assert all(0 < job.minutes <= 60 for job in jobs)
