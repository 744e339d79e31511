# SPDX-License-Identifier: GPL-2.0
"""The row of immediate values in README's table of gains; the group has no published table."""
from __future__ import annotations

from selftests.results.figures import Row


def gains() -> list[Row]:
    """Return the row."""
    return [Row("IMMEDIATE_VALUES", "code that reads variables which seldom change",
                "see [the group's page](Documentation/immediate.rst)",
                "each write of a value interrupts all CPUs", "no published table")]
