# SPDX-License-Identifier: GPL-2.0
"""make refresh: brings every patch to quilt's form after a change in an earlier one.

It pushes and refreshes on copies of the touched files: the kernel tree stays as it is, and the
patch files change only when all of them apply.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from tools import groups
from tools.command import last_lines, run
from tools.series import Series
from tools.tree.sources import Sources


def quilt(series: Series, cwd: Path, *words: str, patches: Path | None = None):
    """Run quilt in cwd with the repository's settings and no user's."""
    env = {"QUILT_PATCHES": str(patches or series.directory), "QUILT_PC": ".pc"}
    return run(["quilt", "--quiltrc", series.root / "tools/quiltrc", *words], cwd, env=env)


def refreshed(series: Series, sources: Sources, scratch: Path) -> dict[str, bytes]:
    """Return each patch file as quilt refresh writes it after the push, by name.

    Args: the series, the sources, a directory for copies of both.
    Raises ValueError with one line that names the first patch that does not apply.
    """
    tree = sources.copy(series.paths, scratch / "tree")
    patches = scratch / "patches"
    patches.mkdir()
    shutil.copy(series.root / "series", patches)
    for patch in series.patches:
        (patches / patch.name).parent.mkdir(exist_ok=True)
        shutil.copy(patch.path, patches / patch.name)
    done = quilt(series, tree, "push", "-a", "--fuzz=0", "--refresh", patches=patches)
    if done.returncode:
        raise ValueError(f"quilt push: {last_lines(done.stdout)}")
    return {patch.name: (patches / patch.name).read_bytes() for patch in series.patches}


def main() -> int:
    """Write the patches that change; return the exit status."""
    try:
        series = groups.series()
        with tempfile.TemporaryDirectory() as scratch:
            after = refreshed(series, Sources.from_env(), Path(scratch))
    except (OSError, RuntimeError, ValueError) as error:
        print(f"refresh: error: {error}; no patch was changed", file=sys.stderr)
        return 1
    changed = [patch for patch in series.patches if after[patch.name] != patch.path.read_bytes()]
    for patch in changed:
        part = patch.path.with_suffix(".part")
        part.write_bytes(after[patch.name])
        part.replace(patch.path)
        print(f"refresh: {patch.name}")
    print(f"refresh: {len(changed)} of {len(series.patches)} patches changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
