# SPDX-License-Identifier: GPL-2.0
"""A step of the series has a new warning of sparse or W=1."""

import pytest

from tools.checks.findings import none
from tools.checks.steps import Step, checker


def check(steps: list[Step]) -> list[str]:
    """No step has a warning of sparse or W=1 that was not there before it."""
    return [f"{step.patch}: new: {line}" for step in steps for line in step.warnings]


def test_sparse_w1(steps: list[Step]) -> None:
    """As check(); sparse has to be there."""
    if not checker():
        pytest.fail("no working sparse: install it", pytrace=False)
    none(check(steps))
