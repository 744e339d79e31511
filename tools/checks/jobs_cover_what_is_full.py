# SPDX-License-Identifier: GPL-2.0
"""A test or boot that is marked full is in no slow job, or in two."""

import re
import sys

import pytest

from tools import groups, jobs
from tools.command import must
from tools.environment import ROOT
from tools.vm import tables

def collected(*words: str) -> list[tuple[str, str]]:
    """Return (file, function) of each test that pytest collects."""
    out = must([sys.executable, "-m", "pytest", "--collect-only", *words], ROOT)
    return sorted(set(re.findall(r"^(\S+?)::(\w+)", out, re.M)))


def test_jobs_cover_what_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test that is marked full and each boot of make test-full is in exactly one slow job."""
    monkeypatch.delenv("GROUP", raising=False)
    tests = [f"{file}::{name}" for file, name in collected("-m", "full")]
    rows = tables.read_tables(groups.chosen(groups.series())).values()
    found = []
    for job in jobs.read_jobs().values():
        assert 0 < job.minutes <= 60, job
        folder = job.folder.relative_to(ROOT)
        for kind, _, what in (word.partition("=") for word in job.work):
            test = f"{folder}/{what}"
            found += [f"boot={what}"] if kind == "boot" else []
            found += [one for one in tests if kind == "test" and f"{one}::".startswith(f"{test}::")]
    assert sorted(found) == sorted(
        [*tests, *(f"boot={boot.name}" for boot in rows if boot.row.when == "full")])
