# SPDX-License-Identifier: GPL-2.0
"""How a list of findings becomes the verdict of a test."""

import functools
from collections.abc import Callable

import pytest


def none(findings: list[str]) -> None:
    """Fail the test with all findings, the first on the first line."""
    if findings:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        pytest.fail("\n  ".join([f"{findings[0]}{more}", *findings]), pytrace=False)


def some(findings: list[str], *expected: str) -> None:
    """Fail the test unless each expected text is in some finding."""
    for text in expected:
        if not any(text in finding for finding in findings):
            pytest.fail(f"no finding says '{text}': {findings}", pytrace=False)


def no_finding(check: Callable[..., list[str]]) -> Callable[..., None]:
    """Return a test for make lint that fails with the findings of a check, whose arguments without
    a default are fixtures."""

    @pytest.mark.static
    @functools.wraps(check)
    def test(**fixtures: object) -> None:
        none(check(**fixtures))

    return test
