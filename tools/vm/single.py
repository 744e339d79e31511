# SPDX-License-Identifier: GPL-2.0
"""Boots of single tests: their results are apart from those of the run."""

from pathlib import Path
from threading import Event
from typing import Any

from tools import environment
from tools.group_toml import BootTable
from tools.results import Result
from tools.vm.boot import run
from tools.vm.tables import Boot, Job

RESULTS = environment.results() / "runner"


def boot_single(name: str, kernel: Path, *jobs: Job, env: tuple[str, ...] = (), **row: Any
               ) -> tuple[list[Result], Path]:
    """Boot a kernel under TCG; return the results, first the boot's own, and where its logs are.

    kernel: an image, or the O= directory with its modules; env: NAME=VALUE for the jobs, besides
    KTAP_HELPERS; row: other keys of a row of the tables. Raises GroupError, OSError.
    """
    helpers = f"{environment.tree()}/tools/testing/selftests/kselftest/ktap_helpers.sh"
    table = BootTable(env=[f"KTAP_HELPERS={helpers}", *env], **row)
    return run(Boot(name, jobs, table), kernel, RESULTS, Event()), RESULTS / f"vm-{name}"
