# SPDX-License-Identifier: GPL-2.0
"""Boots for the tests of the cache model: each setting once in a session, two
at a time. CF_BUILD and CF_OUT say where scripts/model.sh built."""
from __future__ import annotations

import json
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest

from selftests.model.published import model

WRITERS = ["writers", "--set", "file_kib=1024", "--set", "writers=2",
           "--range", "rep_movs_alternative"]

# Name of a boot: what it runs. What tests share is booted once.
BOOTS = {
    "calibrate": ["calibrate"],
    "calibrate-larger": ["calibrate", "--geometry", "l1d=64K:16", "--geometry",
                         "l2=512K:8", "--geometry", "llc=2M:32"],
    "calibrate-keep": ["calibrate", "--geometry", "nt=keep"],
    "calibrate-full": ["calibrate", "--geometry", "l1d=32K:full", "--geometry",
                       "l2=256K:full", "--geometry", "llc=1M:full"],
    "ring-1": ["ring", "--set", "tasks=64", "--set", "rounds=20", "--bound"],
    "ring-2": ["ring", "--set", "tasks=64", "--set", "rounds=20"],
    "ring-1024": ["ring", "--set", "tasks=1024", "--set", "rounds=2",
                  "--set", "warm=1"],
    "ring-perturbed": ["ring", "--set", "tasks=64", "--set", "rounds=20",
                       "--set", "perturb=5"],
    # The first further cache is as the machine's own
    "rings": ["rings", "--set", "tasks=4:16", "--set", "switches=200", "--also", "l2:1M:16", "--also", "l1d:48K:full"],
    "rings-churned": ["rings", "--set", "tasks=4:16", "--set", "switches=200", "--set", "perturb=5",
                      "--set", "churn=16"],
    "ioctl": ["ioctl", "--set", "calls=10"],
    "reads": ["reads", "--set", "calls=5", "--set", "thrash_kib=1024"],
    "writers-1": WRITERS,
    "writers-2": WRITERS,
}


@pytest.fixture(scope="session")
def built() -> Path:
    """Where the plugin and the guest are."""
    path = Path(os.environ["CF_BUILD"]) / "cachemodel"
    assert path.is_dir(), f"{path} is missing: scripts/model.sh build makes it"
    return path


@pytest.fixture(scope="session")
def kernel() -> Path:
    """The kernel's O= directory."""
    return Path(os.environ["CF_OUT"])


@pytest.fixture(scope="session")
def run_options(built: Path, kernel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that every run needs."""
    return ["--kernel", str(kernel), "--built", str(built),
            "--results", str(tmp_path_factory.mktemp("model"))]


@pytest.fixture(scope="session")
def result_of(run_options: list[str]) -> Any:
    """A function from the name of a boot to its result and raw file's path."""
    directory = Path(run_options[-1])

    def boot(name: str) -> tuple[dict[str, Any], Path]:
        done = model(["run", *BOOTS[name], "--name", name, *run_options])
        assert done.returncode == 0, done.stderr.strip() or done.stdout[-500:]
        return (json.loads((directory / f"{name}.json").read_text()),
                directory / f"{name}.raw.json")

    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        boots: dict[str, Future[tuple[dict[str, Any], Path]]] = {
            name: pool.submit(boot, name) for name in BOOTS}
        get: Callable[[str], tuple[dict[str, Any], Path]] = (lambda name: boots[name].result())
        yield get
        for future in boots.values():
            future.cancel()
