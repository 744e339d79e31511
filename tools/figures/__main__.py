# SPDX-License-Identifier: GPL-2.0
"""Published tables: which are stale, their pages and pictures.

  tools/run tools.figures           prints a line for each table that is not of today's files
  tools/run tools.figures pages     makes the pages of modelled tables anew, and fills all tables
                                    into the pages of Documentation/ that have marks for them
  tools/run tools.figures pictures  draws Documentation/pictures/ anew

Exit status: 0 done, 1 a table cannot be read, 2 usage.
"""
import sys

from tools.figures import pages, pictures, store, tables

if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["pages"], ["pictures"]):
        print("usage: tools/run tools.figures [pages | pictures]", file=sys.stderr)
        sys.exit(2)
    try:
        if sys.argv[1:] == ["pictures"]:
            pictures.draw_all()
        elif sys.argv[1:]:
            for table in tables.modelled():
                table.write_page()
            pages.fill()
        for line in [] if sys.argv[1:] else store.stale():
            print(line)
    except (OSError, ValueError, KeyError) as error:
        print(f"figures: {error}", file=sys.stderr)
        sys.exit(1)
