# SPDX-License-Identifier: GPL-2.0
"""What tests of the tools take as arguments: the series, its sources, small series."""

from pathlib import Path

import pytest

from tools.environment import ROOT
from tools.series import Series, load_series
from tools.tree.small_series import Builder
from tools.tree.sources import Sources


@pytest.fixture(scope="session")
def series() -> Series:
    """The series of this repository."""
    return load_series(ROOT)


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
    """A builder of small series."""
    return Builder(tmp_path)
