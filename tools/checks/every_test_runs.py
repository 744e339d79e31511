# SPDX-License-Identifier: GPL-2.0
"""make test runs each test once, wherever its file is."""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools import environment
from tools.environment import ROOT
from tools.jobs import read_jobs


def pytest(root: Path, *words: str) -> tuple[int, str]:
    """Run pytest in a copy of the repository; returns its status and what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    env |= {"RESULTS": str(root / "results"), "KDIR": str(environment.tree())}
    done = subprocess.run([sys.executable, "-B", "-m", "pytest", *words], cwd=root, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_every_test_runs(tmp_path: Path) -> None:
    """The stages of test.sh and lint.sh, and the slow jobs, have each test that pytest finds, and
    none twice; so has one that is new in a folder that had none, and it fails its stage."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, symlinks=True,
                    ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
    planted = copy / "tools/figures/test_planted.py"
    planted.write_text("def test_planted():\n    assert 0\n")
    scripts = "".join((ROOT / f"tools/{name}.sh").read_text() for name in ("test", "lint"))
    stages = sorted(set(re.findall(r"--stage=(\w+)", scripts)))

    def collect(*words: str) -> list[str]:
        return re.findall(r"^\S+::.+$", pytest(copy, "--collect-only", *words)[1], re.M)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = dict(zip(stages, pool.map(lambda stage: collect(f"--stage={stage}"), stages)))
    named = [word.removeprefix(f"{ROOT}/") for job in read_jobs().values() for word in job.tests()]
    slow = [test for test in collect("--stage=full")
            if any(fnmatch.fnmatchcase(re.sub(r"\[.*", "", test), f"{name}*") for name in named)]
    assert sorted([*sum(found.values(), []), *slow]) == sorted(collect())
    stage, = (stage for stage, tests in found.items()
              if any("test_planted" in test for test in tests))
    code, said = pytest(copy, f"--stage={stage}", str(planted))
    assert code == 1 and "1 failed" in said, said
