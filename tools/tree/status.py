# SPDX-License-Identifier: GPL-2.0
"""Says what a kernel tree has of the series, and writes nothing: its version, the groups that are
pushed, files that were edited since, and for each group the options, whether .config has them, and
what switches them at boot or at run time.

Environment: KDIR (the tree, default build/linux), CONFIG (another .config than the tree's), QUEUE,
BUILD.
"""

import sys
from pathlib import Path

from tools import environment
from tools.command import Stop, say, start
from tools.groups import features, switches
from tools.series import load_series
from tools.tree.apply import Tree, reason_of
from tools.tree.sources import read_lines
from tools.tree.versions import patches_for, version


def state(name: str, config: dict[str, str]) -> str:
    """Return an option with what a .config says of it."""
    return f"{name}={config.get(f'CONFIG_{name}', 'n')}"


def report(tree: Tree, config: Path) -> None:
    """Print what a tree has. Raises Stop, OSError, ValueError."""
    if tree.foreign():
        raise Stop(f"{tree.path} has a patch queue of its own (.pc or patches)")
    say(f"Linux {version(tree.path)} in {tree.path}")
    there, series = set(tree.applied()), load_series(tree.directory)
    if not there:
        return say("no patch of the series is pushed: make apply")
    settings = dict(line.split("=", 1) for line in read_lines(config) if line.startswith("CONFIG_"))
    for group in series.groups:
        if ours := [patch for patch in group.patches if patch.name in there]:
            names = [state(name, settings) for name in features(ours)]
            say(f"{group.name}: {len(ours)} of {len(group.names)} patches"
                f"{'; ' + ' '.join(names) if names else ''}"
                f"{'; ' + ' '.join(words) if (words := switches(ours)) else ''}")
    if gone := sorted(there - set(series.names)):
        say(f"of another series: {' '.join(gone)}")
    say(f"edited since: {' '.join(tree.differing(tree.path)) or 'nothing'}")
    say(f"options as in {config}" if settings else f"no {config}: options are shown as n")


def main() -> None:
    """Report on the tree that the environment names."""
    path = environment.tree()
    config = environment.path_of("CONFIG", path / ".config")
    try:
        report(Tree(path, patches_for(path)), config)
    except (OSError, ValueError) as error:
        raise Stop(reason_of(error)) from error


if __name__ == "__main__":
    sys.argv = [sys.argv[0], "status"]
    start(main)
