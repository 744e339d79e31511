# SPDX-License-Identifier: GPL-2.0
"""Published tables: which are stale, their pages and pictures.

  python -m tools.results         prints a line for each table that is not of today's files
  python -m tools.results pages   makes the pages of all tables anew, and fills them into the
                                      pages of Documentation/ that have marks for them
  python -m tools.results pictures  draws Documentation/pictures/ anew

Exit status: 0 done, 1 a table cannot be read, 2 usage.
"""
import sys

from tools.results import pages, store

if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["pages"], ["pictures"]):
        print("usage: python -m tools.results [pages | pictures]", file=sys.stderr)
        sys.exit(2)
    try:
        if sys.argv[1:] == ["pictures"]:
            from tools.results import pictures  # matplotlib is not there before `make tools`
            pictures.draw_all()
        elif sys.argv[1:]:
            for group, name, table in store.tables():
                store.publish(group, name, table)
            pages.fill()
        for line in [] if sys.argv[1:] else store.stale():
            print(line)
    except (OSError, ValueError, KeyError) as error:
        print(f"results: {error}", file=sys.stderr)
        sys.exit(1)
