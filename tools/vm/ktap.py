# SPDX-License-Identifier: GPL-2.0
"""Un-nests KTAP to single subtests, by the kernel tree's own kunit_parser.

KUnit's lines are read by kunit_parser (tools/testing/kunit of the tree under test) as they are; its
verdict on plans is made strict here: it takes a missing plan at the top for complete and ignores
results beyond a plan.

run_kselftest.sh prints each program's output with "# " before every line and then the program's own
result. kunit_parser takes the former for diagnostics, stops at a plan that comes last, and knows no
directive before the name. Hence each program becomes one "# Subtest:" with its plan first.
"""
import importlib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.results import Result

REASON_MAX = 300
PROGRAM = re.compile(r"^# (selftests: \S+: .+)$")
OUTER = re.compile(r"((?:not )?ok \d+ (?:- )?selftests: \S+: .*)$")
VERSION = re.compile(r"TAP version \d+\s*$")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*# SKIP ?(.*))?")
RESULT = re.compile(r"^(\s*(?:not )?ok) (\d+) ?(?:- )?(.*)$")
DIRECTIVE = re.compile(
    r"^(.*?)\s*# (SKIP|XFAIL|XPASS|TODO|TIMEOUT|exit=|FAIL|error)\b ?(.*)$")
NO_REASON = re.compile(r"$|Totals:|timeout set to|overriding timeout")


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
    sys.dont_write_bytecode = True  # in the tree
    return importlib.import_module("kunit_parser")


def slug(name: str) -> str:
    """Return a test's name as a part of an id: no blanks, no addresses."""
    name = re.sub(r"^selftests: \S+: ", "", name)
    name = re.sub(r"\b0x[0-9a-fA-F]{8,}\b", "ADDR", name)
    return re.sub(r"[^\w.,:=+@-]+", "_", name).strip("_")


def unique(results: Iterable[Result]) -> list[Result]:
    """Number ids that occur again _2, _3, ... in the order they came."""
    found: dict[str, Result] = {}
    for result in results:
        base, number = result.id, 1
        while result.id in found:
            number += 1
            result.id = f"{base}_{number}"
        found[result.id] = result
    return list(found.values())


def fix_result(line: str) -> str:
    """Return a result line as kunit_parser wants it; other lines unchanged.

    The name comes before the directive and holds no '#'.
    """
    match = RESULT.match(line)
    if not match:
        return line
    status, number, name = match.groups()
    tail = ""
    if directive := DIRECTIVE.match(name):
        name, word, rest = directive.groups()
        tail = f" # {word}{'' if word.endswith('=') else ' '}{rest}".rstrip()
        name = name or rest  # ksft_test_result_skip(): "ok 1 # SKIP name"
    return f"{status} {number} {name.replace('#', '_').strip()}{tail}"


def _program(name: str, output: list[str], result: str | None, errors: list[str]) -> list[str]:
    """Return the KTAP of one program; broken plans go to errors.

    name: as in its result line; output: its lines without prefix; result: its own result line.
    """
    body: list[str] = []
    planned: int | None = None
    results, skip = 0, ""
    for line in output:
        if plan := PLAN.match(line):
            if planned is not None:
                errors.append(f"{name}: a second plan")
            planned, skip = int(plan[1]), plan[2] or ""
        elif re.match(r"(not )?ok \d+\b", line):
            results += 1
            body.append("  " + fix_result(line))
        elif not VERSION.search(line):
            body.append("  # " + line.strip().removeprefix("# "))
    if results and planned is None:
        errors.append(f"{name}: no plan")
    elif results > (planned or 0):
        errors.append(f"{name}: {results} results for a plan of {planned}")
    else:
        results = planned or 0
    if results:
        body = ["  KTAP version 1", f"  # Subtest: {name}", f"  1..{results}", *body]
    if result is None:
        return body
    result = fix_result(result)
    # Exit status 2 is XFAIL for the runner and a syntax error for a shell.
    if result.endswith("# XFAIL") and not any("# XFAIL" in row for row in body):
        result = "not " + result.replace("# XFAIL", "# exit=2 (XFAIL), but no subtest is XFAIL")
    if skip and result.endswith("# SKIP"):
        result += " " + skip
    directive = DIRECTIVE.match(result)
    if directive and directive[2] not in ("SKIP", "XFAIL"):
        body.append(f"# {directive[2]} {directive[3]}".replace("= ", "=").strip())
    return [*body, result]


def normalise(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return (KTAP lines, errors) of the output of a job.

    Output without kselftest programs comes back as it is but for fix_result(). errors are sentences
    about plans that are missing or too small.
    """
    out: list[str] = []
    errors: list[str] = []
    name: str | None = None
    output: list[str] = []
    for line in lines:
        if start := PROGRAM.match(line):
            if name is not None:
                out += _program(name, output, None, errors)
            name, output = start[1], []
        elif name is None:
            out.append(fix_result(line))
        elif end := OUTER.search(line):
            # A last line of output without a newline is before it
            if end.start():
                output.append(line[:end.start()].removeprefix("# "))
            out += _program(name, output, end[1], errors)
            name = None
        else:
            output.append(line.removeprefix("# ").rstrip())
    if name is not None:
        out += _program(name, output, None, errors)
    return out, errors


def together(lines: Iterable[str]) -> list[str]:
    """Return the lines of a log with each version line right before the header that belongs to it.

    Another CPU's message may come between them, and kunit_parser finds no header then.
    """
    out: list[str] = []
    version: list[str] = []
    for line in lines:
        if re.search(r"# Subtest: |\b1\.\.\d+|TAP version", line):
            out += version
            version = []
        (version if VERSION.search(line) else out).append(line)
    return out + version


def _diagnostics(log: list[str]) -> str:
    """Return the last diagnostics of a test as one line."""
    lines = [re.sub(r"\s+", " ", line.strip().lstrip("# ")) for line in log]
    return "; ".join([line for line in lines if not NO_REASON.match(line)][-5:])[-REASON_MAX:]


class _Walk:
    """Goes through the tests that kunit_parser made of one job's output."""

    def __init__(self, report: Report, status: Any, part: str, boot_log: bool) -> None:
        self.report, self.status, self.part, self.boot_log = report, status, part, boot_log

    def add(self, path: list[str], status: str, reason: str = "") -> None:
        name = ".".join(filter(None, map(slug, path))) or "unnamed"
        self.report.results.append(Result(f"{self.part}/{name}", status, reason))

    def plan_error(self, test: Any, got: int, level: int) -> str:
        """Return what is wrong with the plan of a test with so many results, "" if nothing."""
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

    def tests(self, test: Any, path: list[str]) -> None:
        """Add the results below a test that has subtests."""
        # kunit_parser puts a test without a name in for one that is missing
        real = [sub for sub in test.subtests if sub.name or sub.subtests
                or sub.status != self.status.TEST_CRASHED]
        before = len(self.report.results)
        for sub in real:
            is_leaf = not sub.subtests and sub.status != self.status.NO_TESTS
            (self.leaf if is_leaf else self.tests)(sub, [*path, sub.name])
        below = self.report.results[before:]
        if error := self.plan_error(test, len(real), len(path)):
            self.report.errors.append(": ".join(filter(None, (".".join(map(slug, path)), error))))
            if path:
                self.add(path, "fail", "; ".join(filter(None, (error, _diagnostics(test.log)))))
        elif path and not test.ok_status() and all(result.status != "fail" for result in below):
            self.leaf(test, path)

    def leaf(self, test: Any, path: list[str]) -> None:
        """Add the result of a test by itself."""
        if test.status == self.status.SUCCESS:
            self.add(path, "pass")
        elif test.status == self.status.SKIPPED:
            reason = test.skip_reason.strip()
            self.add(path, "skip", reason or _diagnostics(test.log) or "no reason given")
        elif test.status == self.status.TEST_CRASHED:
            self.add(path, "fail", "no result line")
        else:
            self.add(path, "fail", _diagnostics(test.log) or "not ok")


def parse(parser: ModuleType, lines: Iterable[str], part: str, boot_log: bool = False) -> Report:
    """Return the report of one job.

    parser: from load_parser(); lines: the job's output, or the kernel log up to the first job when
    boot_log (KUnit at boot); part: what ids start with.
    """
    text, errors = (together(lines), []) if boot_log else normalise(lines)
    report = Report(errors=errors)
    if not any(VERSION.search(line) for line in text):
        errors.append("no KTAP in the output: no test ran")
        return report
    main = parser.parse_run_tests(text, parser.Printer(print=False))
    _Walk(report, parser.TestStatus, part, boot_log).tests(main, [])
    if not boot_log and main.expected_count is not None:
        top = sum(1 for line in text if re.match(r"(not )?ok \d+", line))
        if top > main.expected_count:
            errors.append(f"{top} results for a plan of {main.expected_count}")
    return report
