# SPDX-License-Identifier: GPL-2.0
"""Boots for the tests of the cache model: each setting once in a session, two
at a time. CF_BUILD and CF_OUT say where scripts/model.sh built."""
from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from selftests.model.build import BUILT
from selftests.model.published import model

FULL = "--geometry l1d=32K:full l2=256K:full llc=1M:full"
LARGER = "--geometry l1d=64K:16 l2=512K:8 llc=2M:32"
PREAD = "pread --set calls=5 --append setcpuid=fsrm"
RING = "ring --set tasks=64 rounds=20"
RINGS = "rings --set tasks=4:16 switches=200"
# A page that is zeroed when it is allocated is in the caches before the copy writes to it
WRITERS = ("writers --set file_kib=1024 writers=2 --range rep_movs_alternative"
           " --append init_on_alloc=0")

# Name of a boot: what it runs. What tests share is booted once.
BOOTS = {
    "calibrate": "calibrate",
    "calibrate-larger": f"calibrate {LARGER}",
    "calibrate-keep": "calibrate --geometry nt=keep",
    "calibrate-full": f"calibrate {FULL}",
    "ring-1": f"{RING} --bound",
    "ring-2": RING,
    "ring-1024": "ring --set tasks=1024 rounds=2 warm=1",
    "ring-perturbed": f"{RING} perturb=5",
    # The first further cache is as the machine's own
    "rings": f"{RINGS} --also l2:1M:16 l1d:48K:full",
    "rings-churned": f"{RINGS} perturb=5 churn=16",
    "ioctl": "ioctl --set calls=10",
    "pread-other": PREAD,
    "pread-zen3": f"{PREAD} --cpuid family=25,model=1",
    "pread-zen4": f"{PREAD} --cpuid family=25,model=17",
    "reads": "reads --set calls=5 thrash_kib=1024",
    "writers-1": WRITERS,
    "writers-2": WRITERS,
}


@pytest.fixture(scope="session")
def built() -> Path:
    """Where the plugin and the guest are."""
    assert BUILT.is_dir(), f"{BUILT} is missing: scripts/model.sh selftests.model build makes it"
    return BUILT


@pytest.fixture(scope="session")
def run_options(built: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that every run needs."""
    return ["--results", str(tmp_path_factory.mktemp("model"))]


@pytest.fixture(scope="session")
def result_of(run_options: list[str], request: pytest.FixtureRequest) -> Any:
    """A function from the name of a boot to its result and raw file's path.

    All boots begin at the first test, unless tests were chosen by name: then each when it is asked
    for.
    """
    directory = Path(run_options[-1])

    def boot(name: str) -> tuple[dict[str, Any], Path]:
        done = model(["run", *BOOTS[name].split(), "--name", name, *run_options])
        assert done.returncode == 0, done.stderr.strip() or done.stdout[-500:]
        return (json.loads((directory / f"{name}.json").read_text()),
                directory / f"{name}.raw.json")

    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        chosen = request.config.option.keyword or any("::" in name for name in request.config.args)
        boots = {} if chosen else {name: pool.submit(boot, name) for name in BOOTS}
        yield lambda name: (boots.get(name) or boots.setdefault(name, pool.submit(boot, name))
                            ).result()
        for future in boots.values():
            future.cancel()
