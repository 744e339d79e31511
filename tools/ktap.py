# SPDX-License-Identifier: GPL-2.0
"""make ktap: prints the last run of make test (GROUP= as there) as one KTAP stream.

Reads tests.json in RESULTS. Exit status: 0 if no test failed, 1 if one did or there was no run.
"""

import json
import sys

from tools import environment


def main() -> int:
    """Print the stream; return the exit status."""
    file = environment.results() / "tests.json"
    if not file.is_file():
        print("ktap: error: no results of make test yet", file=sys.stderr)
        return 1
    tests = json.loads(file.read_text(encoding="utf-8"))["tests"]
    print(f"KTAP version 1\n1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        reason = " ".join(test["reason"].split())
        if test["status"] == "fail" and reason:
            print(f"# {reason}")
        print(f"{'not ' * (test['status'] == 'fail')}ok {number} {test['id']}"
              + f" # SKIP {reason}" * (test["status"] == "skip"))
    return int(any(test["status"] == "fail" for test in tests))


if __name__ == "__main__":
    sys.exit(main())
