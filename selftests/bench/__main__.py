#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Times what the series changes, in user space on the real CPU: builds and runs the benchmarks
selftests/GROUP/bench*.py, keeps medians and quartiles in
Documentation/results/GROUP/bench*.json.

The figures are of this machine: a run replaces those of its CPU model only. A difference counts
when it is larger than the noise: the same copy, measured as two. What breaks a table's own rule is
published, then named with exit status 1.

Exit status: 0 done, 1 it does not build or run or cannot be published, 2 usage, 130 interrupted.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from selftests.bench.measure import HERE, BenchError, measure

ROUNDS = 21


def main() -> int:
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    groups = sorted({path.parent.name for path in HERE.parent.glob("*/bench*.py")})
    parser.add_argument("group", nargs="*", choices=groups, default=groups, metavar="GROUP",
                        help=f"default: {' '.join(groups)}")
    parser.add_argument("--tree", type=Path, required=True, help="with the series applied")
    parser.add_argument("--rounds", type=int, default=ROUNDS,
                        help=f"at least 15 (default: {ROUNDS})")
    parser.add_argument("--print-only", action="store_true",
                        help="keep no figures: the machine was not idle before the start")
    args = parser.parse_args()
    if args.rounds < 15:
        parser.error("at least 15 rounds are needed")
    code = 0
    tables = [(group, path.stem) for group in args.group
              for path in sorted((HERE.parent / group).glob("bench*.py"))]
    for group, name in tables:
        try:
            measure(group, name, args.tree, args.rounds, not args.print_only)
        except (BenchError, OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
            print(f"bench: {group}/{name}: {error}", file=sys.stderr)
            code = 1
        except KeyboardInterrupt:
            print(f"bench: {group}/{name}: interrupted; the old result is kept", file=sys.stderr)
            return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
