# SPDX-License-Identifier: GPL-2.0
"""What the checks take as arguments: the repository's files, states and steps of the series."""

from pathlib import Path

import pytest

from tools import environment
from tools.checks.repository import repo_files
from tools.checks.steps import Step, run_steps
from tools.environment import ROOT
from tools.series import Series
from tools.tree.sources import Sources
from tools.tree.state import States


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def repository(root: Path) -> list[Path]:
    """Its files."""
    return repo_files(root)


@pytest.fixture(scope="session")
def states(series: Series, sources: Sources, tmp_path_factory) -> States:
    """The states of the series."""
    return States(series, sources, tmp_path_factory.mktemp("states") / "repo")


@pytest.fixture(scope="session")
def base(states: States, tmp_path_factory) -> Path:
    """A directory with the touched files before the series."""
    return states.export(0, tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="session")
def final(states: States, tmp_path_factory) -> Path:
    """A directory with the touched files after the series."""
    return states.export(-1, tmp_path_factory.mktemp("final"))


@pytest.fixture(scope="session", name="built")
def fixture_built(series: Series, sources: Sources, kernel: Path) -> tuple[list[Step], bool]:
    """The steps of the series, and whether nothing had to be built."""
    assert kernel
    return run_steps(series, sources, environment.kernel() / ".config", environment.build())


@pytest.fixture
def steps(built: tuple[list[Step], bool], record_property) -> list[Step]:
    """The steps of the series; the result says if they were known."""
    record_property("cached", built[1])
    return built[0]
