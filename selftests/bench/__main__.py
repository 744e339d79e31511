#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Times what the series changes, in user space on the real CPU: the benchmarks
selftests/GROUP/bench.py, and their tables.

  python -m selftests.bench run [GROUP] --tree TREE [--rounds N]
      builds and runs them, keeps medians and quartiles in Documentation/results/GROUP/bench.json
  python -m selftests.bench page [GROUP]
      makes their pages of the tables that are there

The figures are of this machine: a run replaces those of its CPU model only. A difference counts
when it is larger than the noise: the same copy, measured as two. No figure decides whether a test
passes.

Exit status: 0 done, 1 it does not build or run or cannot be published, 2 usage, 130 interrupted.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from selftests.bench.measure import BenchError, groups
from selftests.results import store

ROUNDS = 21


def main() -> int:
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("group", nargs="?", help="default: all that have a table")
    parser.add_argument("--tree", type=Path, help="kernel tree with the series applied")
    parser.add_argument("--rounds", type=int, default=ROUNDS,
                        help=f"at least 15 (default: {ROUNDS})")
    args = parser.parse_args()
    if args.what == "run" and (args.rounds < 15 or args.tree is None):
        parser.error("run needs --tree, and at least 15 rounds")
    known, code = groups(), 0
    if args.group and args.group not in known:
        print(f"bench: GROUP={args.group} has no benchmark; {' '.join(known)} have one",
              file=sys.stderr)
        return 1
    for bench in [known[args.group]] if args.group else known.values():
        try:
            if args.what == "run":
                bench.measure(args.tree, args.rounds)
            else:
                table = store.read(bench.group, "bench")
                store.publish(bench.group, "bench", table, bench.page_of(table))
        except (BenchError, OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
            print(f"bench: {bench.group}: {error}", file=sys.stderr)
            code = 1
        except KeyboardInterrupt:
            print(f"bench: {bench.group}: interrupted; the old result is kept", file=sys.stderr)
            return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
