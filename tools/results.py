# SPDX-License-Identifier: GPL-2.0
"""The result file, the one form of all results: a list of rows with id, status, reason, seconds.

results.py ID SKIP FILE COMMAND...: runs COMMAND and writes one row to FILE: pass or fail by
its exit status, skip if it succeeds and its last line holds the words SKIP; the last line is the
reason. One that ends with "(cached)" was proven before. The exit status is COMMAND's.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

RANK = {"skip": 0, "pass": 1, "fail": 2}


@dataclass
class Result:
    """One test. status: pass, fail or skip; seconds: 0 where not measured.

    cached: it passed in an earlier run.
    """

    id: str
    status: str
    reason: str = ""
    seconds: float = 0.0
    cached: bool = False

    def row(self) -> dict:
        """Return the row of the file; it has no "cached" unless that is true."""
        row = {**asdict(self), "seconds": round(self.seconds, 3)}
        if not self.cached:
            del row["cached"]
        return row


def checked_result(row: dict, where: str) -> Result:
    """Return the result of a row of a file; one that would hide something becomes a failure."""
    if not isinstance(row, dict) or row.get("status") not in RANK or not row.get("id"):
        name = isinstance(row, dict) and row.get("id") or f"{where.removesuffix('.json')}/unnamed"
        return Result(name, "fail", f"{where}: not a result: {row}")
    status, reason = row["status"], row.get("reason") or ""
    if status == "skip" and not reason:
        status, reason = "fail", "skipped without a reason"
    return Result(row["id"], status, reason, row.get("seconds") or 0.0, bool(row.get("cached")))


def merge_result(known: dict[str, Result], new: Result) -> None:
    """Add a result to those known by id: a failure counts first, then a pass; seconds add up."""
    old = known.setdefault(new.id, new)
    if old is new:
        return
    old.seconds += new.seconds
    old.cached = old.cached and new.cached
    if RANK[new.status] > RANK[old.status]:
        old.status, old.reason = new.status, new.reason


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Write a result file; it appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".tmp")
    scratch.write_text(json.dumps([result.row() for result in results], indent=1) + "\n")
    scratch.replace(path)


def read_results(path: Path) -> list[Result]:
    """Return the results of a file; raises OSError, ValueError."""
    rows = json.loads(path.read_text())
    if not isinstance(rows, list):
        raise ValueError(f"{path.name}: not a list of results")
    return [checked_result(row, path.name) for row in rows]


def main(test_id: str, skip: str, file: str, *command: str) -> int:
    """Run a command and write its row; see above."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace")
    last = ""
    assert process.stdout
    for line in process.stdout:
        print(line, end="", flush=True)
        last = line.strip() or last
    code = process.wait()
    status = "fail" if code else "skip" if skip in last else "pass"
    cached = status == "pass" and last.endswith("(cached)")
    write_results(Path(file), [Result(test_id, status, last, time.monotonic() - start, cached)])
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
