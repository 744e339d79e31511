# SPDX-License-Identifier: GPL-2.0
"""Boots for the tests of the cache model: each setting that a chosen test asks for once in a
session, two at a time."""
import json
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tools.model.build import BUILT, KERNEL, build
from tools.model.published import model

Result = dict[str, Any]

PREAD = "pread --set calls=5 --append setcpuid=fsrm"
RING = "ring --fields --set tasks=64 rounds=20"
RINGS = "rings --set tasks=4:16 switches=200"
# A page that is zeroed when it is allocated is in the caches before the copy writes to it
WRITERS = ("writers --set file_kib=1024 writers=2 --range rep_movs_alternative"
           " --append init_on_alloc=0")

# Name of a boot, and of the fixture that is its result: what it runs
BOOTS = {
    "calibrate": "calibrate",
    "larger": "calibrate --geometry l1d=64K:16 l2=512K:8 llc=2M:32",
    "full": "calibrate --geometry l1d=32K:full l2=256K:full llc=1M:full",
    "ring_1": RING,
    "ring_2": RING,
    "ring_perturbed": f"{RING} perturb=5",
    "rings": RINGS,
    "ioctl": "ioctl --set calls=10",
    "pread_intel": f"{PREAD} --cpuid vendor=GenuineIntel,family=6,model=143",
    "pread_zen3": f"{PREAD} --cpuid family=25,model=1",
    "pread_zen4": f"{PREAD} --cpuid family=25,model=17",
    "pread_zen5": f"{PREAD} --cpuid family=26,model=2",
    "calls": "syscalls --set reps=2 thrash_kib=64 --variables",
    "reads": "reads --set calls=5 thrash_kib=1024",
    "writers_1": WRITERS,
    "writers_2": WRITERS,
}


@pytest.fixture(scope="session")
def built() -> Path:
    """Where the plugin and the guest are, built for the kernel of the virtual machine."""
    build(KERNEL.resolve())
    return BUILT


@pytest.fixture(scope="session")
def run_options(built: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that every run needs."""
    return ["--results", str(tmp_path_factory.mktemp("model"))]


@pytest.fixture(scope="session", name="boots")
def fixture_boots(run_options: list[str], request: pytest.FixtureRequest
                  ) -> Iterator[dict[str, Future[Result]]]:
    """The results of the boots that the chosen tests have as arguments; all begin at the first."""
    def boot(name: str) -> Result:
        done = model([*BOOTS[name].split(), "--name", name, *run_options])
        assert done.returncode == 0, done.stderr.strip() or done.stdout[-500:]
        return dict(json.loads((Path(run_options[-1]) / f"{name}.json").read_text()))

    asked = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        yield {name: pool.submit(boot, name) for name in BOOTS if name in asked}
        pool.shutdown(cancel_futures=True)


def fixture_of(name: str) -> Any:
    """Return the fixture that is the result of a boot."""
    @pytest.fixture(scope="session", name=name)
    def result(boots: dict[str, Future[Result]]) -> Result:
        return boots[name].result()
    return result


globals().update({f"fixture_{name}": fixture_of(name) for name in BOOTS})
