# SPDX-License-Identifier: GPL-2.0
"""A patch has a Signed-off-by, which is for its sender to add."""

import re

from tools.checks.findings import no_finding, some
from tools.series import Series
from tools.tree.small_series import Builder


def check(series: Series) -> list[str]:
    """No patch certifies anything: who sends it does."""
    return [f"{patch.name}: has Signed-off-by:" for patch in series.patches
            if re.search(r"^\s*Signed-off-by:", patch.text, re.M | re.I)]


test_no_signed_off = no_finding(check)


def test_selftest_no_signed_off(builder: Builder) -> None:
    subject = "lib: Add one"
    some(check(builder.patch(subject).alter(subject, "Test:", "Signed-off-by:")), "lib-add-one")
