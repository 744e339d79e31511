# SPDX-License-Identifier: GPL-2.0
"""make refresh: brings every patch to quilt's form after a change in an earlier one.

It pushes and refreshes on copies of the touched files: the kernel tree stays as it is, and the
patch files change only when all of them apply.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tools import groups
from tools.queue.checks_apply import refreshed
from tools.queue.scratch import Sources


def main() -> int:
    """Write the patches that change; return the exit status."""
    try:
        queue = groups.queue()
        with tempfile.TemporaryDirectory() as scratch:
            after = refreshed(queue, Sources.from_env(), Path(scratch))
    except (OSError, RuntimeError, ValueError) as error:
        print(f"refresh: error: {error}; no patch was changed", file=sys.stderr)
        return 1
    changed = [patch for patch in queue.patches if after[patch.name] != patch.path.read_bytes()]
    for patch in changed:
        part = patch.path.with_suffix(".part")
        part.write_bytes(after[patch.name])
        part.replace(patch.path)
        print(f"refresh: {patch.name}")
    print(f"refresh: {len(changed)} of {len(queue.patches)} patches changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
