# SPDX-License-Identifier: GPL-2.0
"""make rebase-report: how the patches go onto the tree of another version, by group.

A patch applies as it is, with an offset, with fuzz, or merges (its change of the base and that
between the two versions touch other lines, as for git cherry-pick); else it fails, is left out, and
the next ones are tried without it. The tree is only read. Exit status: 0 all go, 1 one fails or
there is no such tree.
"""

import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tools import environment, groups
from tools.command import Stop, must, run
from tools.series import Patch, Series
from tools.tree.sources import Sources
from tools.tree.state import States
from tools.tree.versions import version

APPLY, OFFSET, FUZZ, MERGE, FAIL = "apply", "with an offset", "with fuzz", "merge", "fail"
KINDS = (APPLY, OFFSET, FUZZ, MERGE, FAIL)


def patched(patch: Patch, work: Path, fuzz: int, *more: str) -> tuple[bool, list[str]]:
    """Run patch on the copies; return whether it went,
    and what it says of hunks that are not as they were."""
    done = run(["patch", "-p1", f"-F{fuzz}", "-E", "-f", "--no-backup-if-mismatch", "-r", "-",
                *more, "-i", patch.path], work)
    file, said = "", []
    for line in done.stdout.splitlines():
        file = line.partition("ing file ")[2] or file
        if re.search(r"FAILED at|fuzz|offset|find file to patch|already exists", line):
            said.append(f"{file}: {line}".strip(": "))
    return not done.returncode, said


class Report:
    """The copies of a tree's files, and what became of each patch: kind and detail, by name."""

    def __init__(self, series: Series, tree: Path, scratch: Path) -> None:
        """Copy the touched files; raises OSError, RuntimeError as States."""
        self.series, self.work = series, scratch / "work"
        self.states = States(series, Sources(environment.build() / "linux"), scratch / "repo")
        self.found: dict[str, tuple[str, str]] = {}
        for path in series.paths:
            if (tree / path).is_file():
                (self.work / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / path, self.work / path)
        self.work.mkdir(exist_ok=True)

    def blob(self, number: int, path: str, into: Path) -> Path:
        """Write the base's file after `number` patches, an empty one where there is none;
        return it."""
        entry = self.states.files(number).get(path)
        into.write_text(must(["git", "cat-file", "blob", entry.split()[1]], self.states.repo)
                        if entry else "")
        return into

    def merged(self, number: int, patch: Patch, scratch: Path) -> bool:
        """Merge the change of the patch after `number` others into the copies, or leave them."""
        results = {}
        for path in {diff.path for diff in patch.files}:
            ours = scratch / "ours"
            there = (self.work / path).is_file()
            ours.write_text((self.work / path).read_text() if there else "")
            before, after = (self.blob(at, path, scratch / name)
                             for at, name in ((number, "before"), (number + 1, "after")))
            if (there != (path in self.states.files(number))
                    or run(["git", "merge-file", "-q", ours, before, after]).returncode):
                return False
            results[path] = ours.read_text()
        for path, text in results.items():
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_text(text)
        return True

    def take(self, number: int, patch: Patch, scratch: Path) -> tuple[str, str]:
        """Bring one patch onto the copies; return how it went."""
        for fuzz in (0, 2):
            if patched(patch, self.work, fuzz, "--dry-run")[0]:
                _, said = patched(patch, self.work, fuzz)
                fuzzy = [line for line in said if "fuzz" in line]
                return (FUZZ if fuzzy else OFFSET if said else APPLY), "; ".join(fuzzy)
        why = [line for line in patched(patch, self.work, 0, "--dry-run")[1]
               if "succeeded" not in line]
        return (MERGE, "") if self.merged(number, patch, scratch) else (FAIL, "; ".join(why))

    def run(self, scratch: Path) -> None:
        """Bring all patches onto the copies, in order."""
        for number, patch in enumerate(self.series.patches):
            self.found[patch.name] = self.take(number, patch, scratch)

    def lines(self) -> list[str]:
        """Return a line for each group, and one for each patch that needs fuzz or fails."""
        out = []
        for group in self.series.groups:
            ours = {patch.name: self.found[patch.name] for patch in group.patches}
            count = Counter(kind for kind, _ in ours.values())
            out.append(f"{group.name}: "
                       f"{', '.join(f'{count[kind]} {kind}' for kind in KINDS if count[kind])}")
            out += [f"  {name}: {kind}{': ' * bool(detail)}{detail}"
                    for name, (kind, detail) in ours.items() if kind in (FUZZ, FAIL)]
        return out


def main() -> int:
    """Report on the tree of KDIR=; return the exit status."""
    try:
        tree = environment.tree()
        print(f"rebase-report: Linux {version(tree)} in {tree}")
        if (tree / ".pc/applied-patches").is_file():
            raise Stop(f"{tree} has patches pushed: quilt pop -a, or make unapply")
        with tempfile.TemporaryDirectory() as scratch:
            report = Report(groups.series(), tree, Path(scratch))
            report.run(Path(scratch))
    except (OSError, RuntimeError, ValueError) as error:
        print(f"rebase-report: error: {error}", file=sys.stderr)
        return 1
    print("\n".join(f"rebase-report: {line}" for line in report.lines()))
    return int(any(kind == FAIL for kind, _ in report.found.values()))


if __name__ == "__main__":
    sys.exit(main())
