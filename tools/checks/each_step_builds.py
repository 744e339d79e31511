# SPDX-License-Identifier: GPL-2.0
"""A patch of the series does not build."""

from tools.checks.findings import none
from tools.checks.steps import Step


def check(steps: list[Step]) -> list[str]:
    """Each patch builds."""
    return [f"{step.patch}: {line}" for step in steps for line in step.broken]


def test_each_step_builds(steps: list[Step]) -> None:
    none(check(steps))
