# SPDX-License-Identifier: GPL-2.0
"""The kernel's own scripts on patches; what they print of a patch is stored."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tools.command import last_lines, run
from tools.series import Patch
from tools.verdicts import Verdicts, key


def run_on(words: list[str], patches: Sequence[Patch], kernel: Path, tool: str
           ) -> list[tuple[Patch, str, Callable[[], None]]]:
    """Run a script of the kernel once on patches, or take what it printed of those that passed.

    Args: the command, the patches, where to run, the script's text (part of the key, with the
    command and the patch).
    Returns for each patch the output, of several patches the lines that begin with its path, and
    what to call if it is a pass. Raises RuntimeError when the script fails without a word.
    """
    verdicts = Verdicts("output")
    stable = [word for word in words if not word.startswith("--mpath=")]
    keys = [key(words=stable, patch=patch.name, text=patch.text, tool=tool) for patch in patches]
    output = {patch.name: verdicts.lookup(name) for patch, name in zip(patches, keys)}
    if new := [patch for patch in patches if output[patch.name] is None]:
        # These scripts read settings from the home directory.
        done = run([*words, *(patch.path for patch in new)], kernel,
                   env={"HOME": str(new[0].path.parent)})
        if done.returncode > 1 or done.returncode and not done.stdout:
            raise RuntimeError(f"{words[1]}: exit status {done.returncode}: "
                               f"{last_lines(done.stdout)}")
        lines = done.stdout.splitlines(keepends=True)
        for patch in new:
            output[patch.name] = "".join(line for line in lines if len(new) == 1
                                         or line.startswith(f"{patch.path}:"))
    return [(patch, output[patch.name], partial(verdicts.store, name, output[patch.name]))
            for patch, name in zip(patches, keys)]
