# SPDX-License-Identifier: GPL-2.0
"""What the tests are given: CF_KERNEL and CF_TREE; one that is missing fails a test, none skips."""
import os
from pathlib import Path

import pytest


def _path(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value or not Path(value).exists():
        pytest.fail(f"{variable}={value or ''}: no such file")
    return Path(value).resolve()


@pytest.fixture(scope="session")
def tree() -> Path:
    """The kernel's source tree."""
    return _path("CF_TREE")


@pytest.fixture(scope="session")
def kernel() -> Path:
    """The bzImage to boot; with CONFIG_LKDTM."""
    return _path("CF_KERNEL")
