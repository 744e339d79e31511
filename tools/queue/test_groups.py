# SPDX-License-Identifier: GPL-2.0
"""A group is added by files only, and no tool names one."""

from __future__ import annotations

import re
import sys

import pytest

from tools import groups, jobs
from tools.queue.checks_repo import repo_files
from tools.queue.proc import must
from tools.vm import tables

ROOT = groups.ROOT
TOOLS = ("Makefile", "tools/", ".ci/")
# A parameter of the workload writers has a group's name
KNOWN = ("tools/model/workloads.py", "tools/model/guest/writers.c")


@pytest.mark.static
def test_no_tool_names_a_group() -> None:
    """A tool finds groups in the banners and folders; its tests may take any name."""
    names = "|".join(group.name for group in groups.queue().groups if group.gated)
    tools = {str(path.relative_to(ROOT)): path for path in repo_files(ROOT)
             if not path.name.startswith("test_") and path.suffix not in (".txt", ".config")}
    assert not [f"{name}: {match}" for name, path in tools.items()
                if name.startswith(TOOLS) and not name.startswith(KNOWN)
                for match in re.findall(
                    (r"(?m)^[^#\n]*(?<![\w.-])" if path.suffix in (".sh", "") else r"[\"'/=]")
                    + rf"(?:{names})(?![\w.:-])", path.read_text(errors="replace"))]


def collected(*words: str) -> list[tuple[str, str]]:
    """Return (file, function) of each test that pytest collects."""
    out = must([sys.executable, "-m", "pytest", "--collect-only", *words], ROOT)
    return sorted(set(re.findall(r"^(\S+?)::(\w+)", out, re.M)))


def test_jobs_cover_what_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test that is marked full and each boot of make test-full is in exactly one slow job."""
    monkeypatch.delenv("GROUP", raising=False)
    tests = [f"{file}::{name}" for file, name in collected("-m", "full")]
    rows = tables.read_tables(groups.chosen(groups.queue())).values()
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
