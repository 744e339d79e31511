#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Prints a line for each published table that is not of today's files: python -m selftests.results

Exit status: 0 done, 1 a table cannot be read.
"""
import sys

from selftests.results.store import stale

if __name__ == "__main__":
    try:
        for line in stale():
            print(line)
    except (OSError, ValueError, KeyError) as error:
        print(f"results: {error}", file=sys.stderr)
        sys.exit(1)
