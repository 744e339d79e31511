# SPDX-License-Identifier: GPL-2.0
"""Fixtures of the queue checks: the real queue, its sources, tiny queues."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.environment import ROOT
from tools.queue.fixtures import Builder
from tools.queue.scratch import Sources, final_files
from tools.series import Queue, load_queue


@pytest.fixture(scope="session")
def queue() -> Queue:
    """The queue of this repository."""
    return load_queue(ROOT)


@pytest.fixture(scope="session")
def sources() -> Sources:
    """The kernel sources; what reads them fails with a clear line when there are none."""
    return Sources.from_env()


@pytest.fixture(scope="session")
def kernel(sources: Sources) -> Path:
    """The pushed kernel tree; a failure with a clear line when it is absent."""
    return sources.kernel()


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    """A builder of tiny queues."""
    return Builder(tmp_path)


@pytest.fixture(scope="session")
def files(queue: Queue, sources: Sources, tmp_path_factory) -> tuple[Path, Path]:
    """Directories with the touched files before and after the series."""
    return final_files(queue, sources, tmp_path_factory.mktemp("files"))
