# SPDX-License-Identifier: GPL-2.0
"""What the tests are given: CF_KERNEL (bzImage), CF_TREE (source tree) and
CF_RESULTS (directory). One that is unset or missing fails a test; none skips."""
import os
from pathlib import Path

import pytest


def _path(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        pytest.fail(f"{variable} is not set")
    path = Path(value)
    if not path.exists():
        pytest.fail(f"{variable}={value}: no such file")
    return path.resolve()


@pytest.fixture(scope="session")
def tree() -> Path:
    """The kernel's source tree."""
    return _path("CF_TREE")


@pytest.fixture(scope="session")
def kernel() -> Path:
    """The bzImage to boot; with CONFIG_LKDTM."""
    return _path("CF_KERNEL")


@pytest.fixture(scope="session")
def results() -> Path:
    """Where logs go; made when it does not exist yet."""
    value = os.environ.get("CF_RESULTS")
    if not value:
        pytest.fail("CF_RESULTS is not set")
    path = Path(value)
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()
