# SPDX-License-Identifier: GPL-2.0
"""Turns what kselftest programs print into the KTAP that kunit_parser reads.

run_kselftest.sh prints each program's output with "# " before every line and
then the program's own result. kunit_parser takes the former for diagnostics,
stops at a plan that comes last, and knows neither a program that runs several
others (several plans) nor a directive that stands before the name. Hence each
program becomes one "# Subtest:" with one plan and running numbers; the results
themselves are left to kunit_parser.
"""
from __future__ import annotations

import re
from collections.abc import Iterable

PROGRAM = re.compile(r"^# (selftests: \S+: .+)$")
OUTER = re.compile(r"((?:not )?ok \d+ (?:- )?selftests: \S+: .*)$")
VERSION = re.compile(r"^K?TAP version \d+$")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*# SKIP ?(.*))?")
RESULT = re.compile(r"^(\s*(?:not )?ok) (\d+) ?(?:- )?(.*)$")
DIRECTIVE = re.compile(
    r"^(.*?)\s*# (SKIP|XFAIL|XPASS|TODO|TIMEOUT|exit=|FAIL|error)\b ?(.*)$")


def fix_result(line: str, number: int | None = None) -> str:
    """Return a result line as kunit_parser wants it; other lines unchanged.

    The name comes before the directive, holds no '#' of its own, and the
    number is replaced when one is given.
    """
    match = RESULT.match(line)
    if not match:
        return line
    status, old, text = match.groups()
    directive = DIRECTIVE.match(text)
    name, tail = text, ""
    if directive:
        name, word, rest = directive.groups()
        if not name:  # ksft_test_result_skip(): "ok 1 # SKIP name"
            name = rest
        tail = f" # {word}{'' if word.endswith('=') else ' '}{rest}".rstrip()
    name = name.replace("#", "_").strip()
    return f"{status} {old if number is None else number} {name}{tail}"


def _program(name: str, output: list[str], result: str | None,
             errors: list[str]) -> list[str]:
    """Return the KTAP of one program.

    name: as in its result line; output: its lines without prefix; result: its
    own result line, None when there is none. Broken plans go to errors.
    """
    body: list[str] = []
    plans: list[int] = []
    results, skip, blocks = 0, "", 0
    for line in output:
        if VERSION.match(line):
            blocks += 1
        elif plan := PLAN.match(line):
            plans.append(int(plan[1]))
            skip = plan[2] or skip
        elif re.match(r"^(not )?ok \d+\b", line):
            results += 1
            body.append("  " + fix_result(line, results))
        else:
            body.append("  # " + line.strip().removeprefix("# "))
    planned = sum(plans)
    if results and len(plans) < max(blocks, 1):
        errors.append(f"{name}: no plan")
        planned = results
    elif results > planned:
        errors.append(f"{name}: {results} results for a plan of {planned}")
        planned = results
    lines = body
    if planned:
        lines = ["  KTAP version 1", f"  # Subtest: {name}",
                 f"  1..{planned}", *body]
    if result is None:
        return lines
    result = fix_result(result)
    # Exit status 2 is XFAIL for the runner and a syntax error for a shell.
    if result.endswith("# XFAIL") and not any("# XFAIL" in row for row in body):
        result = "not " + result.replace(
            "# XFAIL", "# exit=2 (XFAIL), but no subtest is XFAIL")
    if skip and result.endswith("# SKIP"):
        result += " " + skip
    directive = DIRECTIVE.match(result)
    if directive and directive[2] not in ("SKIP", "XFAIL"):
        lines.append("# " + (directive[2] + " " + directive[3])
                     .replace("= ", "=").strip())
    return [*lines, result]


def normalise(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return (KTAP lines, errors) of the output of a job.

    Output without kselftest programs comes back as it is but for fix_result().
    errors are sentences about plans that are missing or too small.
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
            # A last line of output without a newline ends up before it.
            if end.start():
                output.append(line[:end.start()].removeprefix("# "))
            out += _program(name, output, end[1], errors)
            name = None
        else:
            output.append(line.removeprefix("# ").rstrip())
    if name is not None:
        out += _program(name, output, None, errors)
    return out, errors
