#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Merges the results of all stages of `make test` and closes the run.

Reads <results>/parts/*.json (lists of {"id", "status", "reason", "seconds"}, with "cached": true when a pass was proven
before) and <results>/stages (minutes per stage);
writes <results>/tests.json and <results>/junit.xml; prints failures, skips, minutes per stage and, as the last line,
'N passed, N failed, N skipped'. Exit code: 0 if nothing failed and something passed, else 1; 2 for unreadable results.
"""

import argparse
import json
import math
import re
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

STATUSES = ("pass", "fail", "skip")


def read_parts(parts: Path) -> list[dict]:
    """Every result below `parts`, in the order of the files' names.

    A result without an id, with an unknown status or a skip without a reason becomes a failure: it would hide something.
    The same id in two files counts once, the worse result first.
    """
    rank = {"fail": 0, "pass": 1, "skip": 2}
    merged: dict[str, dict] = {}
    for file in sorted(parts.glob("*.json")):
        for test in json.loads(file.read_text()):
            if test.get("status") not in STATUSES or not test.get("id"):
                test = {"id": test.get("id") or f"{file.stem}/unnamed", "status": "fail",
                        "reason": f"{file.name}: not a result: {test}", "seconds": 0}
            elif test["status"] == "skip" and not test.get("reason"):
                test = {**test, "status": "fail", "reason": "skipped without a reason"}
            known = merged.get(test["id"])
            if known is None or rank[test["status"]] < rank[known["status"]]:
                merged[test["id"]] = test
    return list(merged.values())


def read_stages(file: Path) -> tuple[list[tuple[str, float]], float]:
    """(stage, minutes) of this run, as scripts/stage.sh noted them, and the minutes since it began: stages may overlap."""
    head, *lines = file.read_text().splitlines()
    pairs = [line.split() for line in lines]
    return [(name, int(seconds) / 60) for name, seconds in pairs], (time.time() - int(head.split()[-1])) / 60


def failed_stages(tests: list[dict], names: list[str]) -> list[dict]:
    """A failure for each stage that ended badly: its tests may say why, or it may have had no chance to say anything."""
    explained = any(test["status"] == "fail" for test in tests)
    return [{"id": f"stage/{name}", "status": "fail", "seconds": 0,
             "reason": "the stage ended with an error" + (" (see the failures above)" if explained else "")} for name in names]


def write_junit(tests: list[dict], file: Path) -> None:
    """The same results as JUnit XML, one suite per part (the id up to the first slash)."""
    root = ET.Element("testsuites")
    suites: dict[str, ET.Element] = {}
    for test in tests:
        part, _, name = test["id"].partition("/")
        if part not in suites:
            suites[part] = ET.SubElement(root, "testsuite", name=part)
        suite = suites[part]
        case = ET.SubElement(suite, "testcase", classname=part, name=name, time=f"{test.get('seconds') or 0:.3f}")
        if test["status"] != "pass":
            tag = "failure" if test["status"] == "fail" else "skipped"
            ET.SubElement(case, tag, message=re.sub(r"[^\x20-\x7e]", "?", str(test.get("reason") or "")))
    ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True, help="directory of parts/ and stages")
    parser.add_argument("--series", required=True, help="hash of the series that was tested")
    parser.add_argument("--limits", type=Path, help="file with the minutes that the whole run may take")
    parser.add_argument("--failed-stage", action="append", default=[], help="a stage that ended with an error")
    args = parser.parse_args()
    try:
        tests = read_parts(args.results / "parts")
        stages, total = read_stages(args.results / "stages")
        limit = float(args.limits.read_text().splitlines()[-1]) if args.limits else math.inf
    except (OSError, ValueError, AttributeError, IndexError) as error:
        print(f"report.py: error: unreadable results: {error}", file=sys.stderr)
        return 2
    tests += failed_stages(tests, args.failed_stage)
    if total > limit:
        tests.append({"id": "stage/time", "status": "fail", "seconds": total * 60,
                      "reason": f"the run took {total:.0f} minutes, the limit is {limit:.0f}"})
    (args.results / "tests.json").write_text(json.dumps({"series": args.series, "tests": tests}, indent=1) + "\n")
    write_junit(tests, args.results / "junit.xml")

    counts = {status: sum(test["status"] == status for test in tests) for status in STATUSES}
    for status in ("skip", "fail"):
        for test in tests:
            if test["status"] == status:
                print(f"{status.upper()} {test['id']}: {test.get('reason') or 'no reason given'}")
    print("minutes: " + ", ".join(f"{name} {minutes:.1f}" for name, minutes in stages) + f"; together {total:.1f}")
    print(f"{counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped")
    return 0 if counts["pass"] and not counts["fail"] else 1


if __name__ == "__main__":
    sys.exit(main())
