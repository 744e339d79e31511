#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Merges the results of all stages of `make test` and closes the run.

Reads <results>/parts/*.json (selftests/results_file.py) and <results>/stages (minutes per stage); writes
<results>/tests.json and <results>/junit.xml; fails a run that ends after $DEADLINE (seconds since 1970, set by
continuous integration, whose limit $LIMIT_MINUTES is); prints failures, skips, minutes per stage and, as the last line,
'N passed, N failed, N skipped'. Exit code: 0 if nothing failed and something passed, else 1; 2 for unreadable results.
"""

import argparse
import json
import math
import os
import re
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from selftests import results_file  # noqa: E402
from selftests.results_file import Result  # noqa: E402


def read_parts(parts: Path) -> dict[str, Result]:
    """Return every result below `parts` by its id; the same id in two files counts once, the worse result first."""
    merged: dict[str, Result] = {}
    for file in sorted(parts.glob("*.json")):
        for result in results_file.read(file):
            results_file.merge(merged, result)
    return merged


def read_stages(file: Path) -> tuple[list[tuple[str, float]], float]:
    """(stage, minutes) of this run, as scripts/stage.sh noted them, and the minutes since it began: stages may overlap."""
    head, *lines = file.read_text().splitlines()
    pairs = [line.split() for line in lines]
    return [(name, int(seconds) / 60) for name, seconds in pairs], (time.time() - int(head.split()[-1])) / 60


def failed_stages(tests: list[Result], names: list[str]) -> list[Result]:
    """A failure for each stage that ended badly: its tests may say why, or it may have had no chance to say anything."""
    reason = "the stage ended with an error" + (
        " (see the failures above)" if any(test.status == "fail" for test in tests) else "")
    return [Result(f"stage/{name}", "fail", reason) for name in names]


def write_junit(tests: list[Result], file: Path) -> None:
    """The same results as JUnit XML, one suite per part (the id up to the first slash)."""
    root = ET.Element("testsuites")
    suites: dict[str, ET.Element] = {}
    for test in tests:
        part, _, name = test.id.partition("/")
        if part not in suites:
            suites[part] = ET.SubElement(root, "testsuite", name=part)
        case = ET.SubElement(suites[part], "testcase", classname=part, name=name, time=f"{test.seconds:.3f}")
        if test.status != "pass":
            tag = "failure" if test.status == "fail" else "skipped"
            ET.SubElement(case, tag, message=re.sub(r"[^\x20-\x7e]", "?", test.reason))
    ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True, help="directory of parts/ and stages")
    parser.add_argument("--series", required=True, help="hash of the series that was tested")
    parser.add_argument("--base", required=True, help="version of the kernel below the series")
    parser.add_argument("--failed-stage", action="append", default=[], help="a stage that ended with an error")
    args = parser.parse_args()
    try:
        tests = list(read_parts(args.results / "parts").values())
        stages, total = read_stages(args.results / "stages")
        deadline = float(os.environ.get("DEADLINE") or math.inf)
    except (OSError, ValueError, AttributeError, IndexError) as error:
        print(f"report.py: error: unreadable results: {error}", file=sys.stderr)
        return 2
    tests += failed_stages(tests, args.failed_stage)
    if late := max(0, time.time() - deadline) / 60:
        reason = f"{late:.0f} minutes over the limit of {os.environ.get('LIMIT_MINUTES')} minutes"
        tests.append(Result("stage/time", "fail", reason, total * 60))
    rows = {"series": args.series, "base": args.base, "tests": [test.row() for test in tests]}
    (args.results / "tests.json").write_text(json.dumps(rows, indent=1) + "\n")
    write_junit(tests, args.results / "junit.xml")

    counts = {status: sum(test.status == status for test in tests) for status in ("pass", "fail", "skip")}
    for status in ("skip", "fail"):
        for test in tests:
            if test.status == status:
                print(f"{status.upper()} {test.id}: {test.reason or 'no reason given'}")
    print("minutes: " + ", ".join(f"{name} {minutes:.1f}" for name, minutes in stages) + f"; together {total:.1f}")
    if cached := sum(test.cached and test.status == "pass" for test in tests):
        print(f"{cached} of them passed in an earlier run with the same inputs (FRESH=1 runs them again)")
    print(f"{counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped")
    return 0 if counts["pass"] and not counts["fail"] else 1


if __name__ == "__main__":
    sys.exit(main())
