# SPDX-License-Identifier: GPL-2.0
"""Merges the results of all stages of `make test` and closes the run.

Reads <results>/parts/*.json (tools/results.py) and <results>/stages (minutes per stage);
writes <results>/tests.json; fails a run that ends after $DEADLINE (seconds since 1970, set by
continuous integration, whose limit $LIMIT_MINUTES is); prints failures, skips, minutes per stage
and, as the last line, 'N passed, N failed, N skipped'. Exit code: 0 if nothing failed and something
passed, else 1; 2 for unreadable results.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path

from tools.results import Result, merge_result, read_results


def read_parts(parts: Path) -> list[Result]:
    """Return every result below `parts`; the worse one of two with the same id."""
    merged: dict[str, Result] = {}
    for file in sorted(parts.glob("*.json")):
        for result in read_results(file):
            merge_result(merged, result)
    return list(merged.values())


def read_stages(file: Path) -> tuple[str, float]:
    """Return the minutes of each stage as text, and of all since the beginning: stages overlap."""
    head, *lines = file.read_text().splitlines()
    total = (time.time() - int(head.split()[-1])) / 60
    pairs = [line.split() for line in lines]
    return ", ".join(f"{name} {int(seconds) / 60:.1f}" for name, seconds in pairs), total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--results", type=Path, required=True, help="directory of parts/ and stages")
    add("--series", required=True, help="hash of the series that was tested")
    add("--base", required=True, help="version of the kernel below the series")
    add("--failed-stage", action="append", default=[], help="a stage that ended with an error")
    add("--late-stage", action="append", default=[], help="a stage that there was no time for")
    args = parser.parse_args()
    try:
        tests = read_parts(args.results / "parts")
        stages, total = read_stages(args.results / "stages")
        deadline = float(os.environ.get("DEADLINE") or math.inf)
    except (OSError, ValueError, AttributeError, IndexError) as error:
        print(f"report.py: error: unreadable results: {error}", file=sys.stderr)
        return 2
    seen = " (see the failures above)" if any(test.status == "fail" for test in tests) else ""
    tests += [Result(f"stage/{name}", "fail", f"the stage ended with an error{seen}")
              for name in args.failed_stage]
    limit = os.environ.get("LIMIT_MINUTES")
    tests += [Result(f"stage/{name}", "skip", f"no time for it in the {limit} minutes of the run")
              for name in args.late_stage]
    if late := max(0, time.time() - deadline) / 60:
        reason = f"{late:.0f} minutes over the limit of {limit} minutes"
        tests.append(Result("stage/time", "fail", reason, total * 60))
    rows = {"series": args.series, "base": args.base, "tests": [test.row() for test in tests]}
    (args.results / "tests.json").write_text(json.dumps(rows, indent=1) + "\n")

    of = {status: [test for test in tests if test.status == status]
          for status in ("skip", "fail", "pass")}
    for test in of["skip"] + of["fail"]:
        print(f"{test.status.upper()} {test.id}: {test.reason or 'no reason given'}")
    print(f"minutes: {stages}; together {total:.1f}")
    if cached := sum(test.cached for test in of["pass"]):
        print(f"{cached} of them passed in an earlier run with the same inputs "
              "(FRESH=1 runs them again)")
    print(f"{len(of['pass'])} passed, {len(of['fail'])} failed, {len(of['skip'])} skipped")
    return 0 if of["pass"] and not of["fail"] else 1


if __name__ == "__main__":
    sys.exit(main())
