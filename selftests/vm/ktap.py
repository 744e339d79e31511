# SPDX-License-Identifier: GPL-2.0
"""Un-nests KTAP to single subtests, by the kernel tree's own kunit_parser.

kunit_parser (tools/testing/kunit of the tree under test) reads the lines; here
only ids are made and its verdict on plans is made strict: it takes a missing
plan at the top for complete and ignores results beyond a plan.
"""
from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from selftests.results_file import Result
from selftests.vm import kselftest

REASON_MAX = 300


@dataclass
class Report:
    """Results of one job, and what is wrong with its plans."""

    results: list[Result] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def load_parser(tree: Path) -> ModuleType:
    """Return kunit_parser of a source tree; raises FileNotFoundError."""
    path = tree / "tools/testing/kunit"
    if not (path / "kunit_parser.py").is_file():
        raise FileNotFoundError(f"{tree}: no tools/testing/kunit")
    if str(path) not in sys.path:
        sys.path.insert(0, str(path))
    # The tree is not ours to write to.
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return importlib.import_module("kunit_parser")
    finally:
        sys.dont_write_bytecode = before


def slug(name: str) -> str:
    """Return a test's name as a part of an id: no blanks, no addresses."""
    name = re.sub(r"^selftests: \S+: ", "", name)
    name = re.sub(r"\b0x[0-9a-fA-F]{8,}\b", "ADDR", name)
    return re.sub(r"[^\w.,:=+@-]+", "_", name).strip("_")


def unique(results: Iterable[Result]) -> list[Result]:
    """Number ids that occur again _2, _3, ... in the order they came."""
    seen: set[str] = set()
    out = []
    for result in results:
        base, number = result.id, 1
        while result.id in seen:
            number += 1
            result.id = f"{base}_{number}"
        seen.add(result.id)
        out.append(result)
    return out


def _diagnostics(log: list[str]) -> str:
    """Return the last diagnostics of a test as one line."""
    lines = [re.sub(r"\s+", " ", line.strip().lstrip("# ")) for line in log]
    lines = [line for line in lines
             if line and not re.match(r"(Totals:|timeout set to|overriding timeout)", line)]
    return "; ".join(lines[-5:])[-REASON_MAX:]


class _Walk:
    """Goes through the tests that kunit_parser made of one job's output."""

    def __init__(self, parser: ModuleType, part: str, boot_log: bool) -> None:
        self.status = parser.TestStatus
        self.part = part
        self.boot_log = boot_log
        self.report = Report()

    def add(self, path: list[str], status: str, reason: str = "") -> None:
        name = ".".join(filter(None, map(slug, path))) or "unnamed"
        self.report.results.append(
            Result(f"{self.part}/{name}", status, reason))

    def plan_error(self, test: Any, level: int) -> str:
        """Return what is wrong with the plan of a test, "" if nothing."""
        got = sum(1 for sub in test.subtests if not self.placeholder(sub))
        if test.expected_count is None:
            # KUnit itself prints no plan for parameters from a generator.
            if self.boot_log and level >= 2 and got:
                return ""
            return "no plan" if got else "no plan and no test"
        if test.expected_count == 0:
            return "empty plan (1..0)"
        if got < test.expected_count:
            return f"{got} of {test.expected_count} planned results"
        return ""

    def placeholder(self, test: Any) -> bool:
        """Tell whether kunit_parser put a test in for one that is missing."""
        return (test.name == "" and not test.subtests
                and test.status == self.status.TEST_CRASHED)

    def walk(self, test: Any, path: list[str], level: int) -> None:
        """Add the results below a test that has subtests."""
        error = self.plan_error(test, level)
        before = len(self.report.results)
        for sub in test.subtests:
            if self.placeholder(sub):
                continue
            if sub.subtests or sub.status == self.status.NO_TESTS:
                self.walk(sub, [*path, sub.name], level + 1)
            else:
                self.leaf(sub, [*path, sub.name])
        if error:
            place = ".".join(map(slug, path))
            self.report.errors.append(f"{place}: {error}" if place else error)
            if path:
                self.add(path, "fail", "; ".join(
                    filter(None, (error, _diagnostics(test.log)))))
        elif path and test.status not in (self.status.SUCCESS,
                                          self.status.SKIPPED):
            below = self.report.results[before:]
            if not any(result.status == "fail" for result in below):
                crashed = test.status == self.status.TEST_CRASHED
                self.add(path, "fail", "no result line" if crashed else
                         _diagnostics(test.log) or "not ok")

    def leaf(self, test: Any, path: list[str]) -> None:
        """Add the result of a test without subtests."""
        if test.status == self.status.SUCCESS:
            self.add(path, "pass")
        elif test.status == self.status.SKIPPED:
            reason = test.skip_reason.strip()
            self.add(path, "skip", reason or _diagnostics(test.log)
                     or "no reason given")
        elif test.status == self.status.FAILURE:
            self.add(path, "fail", _diagnostics(test.log) or "not ok")
        else:
            self.add(path, "fail", "no result line")


def together(lines: Iterable[str]) -> list[str]:
    """Return the lines of a log with each version line right before the header that belongs to it.

    Another CPU's message may come between them, and kunit_parser takes no header there then.
    """
    out: list[str] = []
    version: str | None = None
    for line in lines:
        if version is not None and re.search(r"# Subtest: |\b1\.\.\d+|TAP version", line):
            out.append(version)
            version = None
        if re.search(r"TAP version \d+\s*$", line):
            version = line
        else:
            out.append(line)
    return out if version is None else [*out, version]


def parse(parser: ModuleType, lines: Iterable[str], part: str,
          boot_log: bool = False) -> Report:
    """Return the report of one job.

    parser: from load_parser(); lines: the job's output, or the kernel log up
    to the first job when boot_log (KUnit at boot); part: what ids start with.
    """
    report = Report()
    if boot_log:
        text = together(lines)
    else:
        text, report.errors = kselftest.normalise(lines)
    if not any(re.search(r"TAP version \d+\s*$", line) for line in text):
        report.errors.append("no KTAP in the output: no test ran")
        return report
    main = parser.parse_run_tests(text, parser.Printer(print=False))
    walk = _Walk(parser, part, boot_log)
    walk.walk(main, [], 0)
    report.results = walk.report.results
    report.errors += walk.report.errors
    if not boot_log and main.expected_count is not None:
        top = sum(1 for line in text if re.match(r"(not )?ok \d+", line))
        if top > main.expected_count:
            report.errors.append(
                f"{top} results for a plan of {main.expected_count}")
    return report
