# SPDX-License-Identifier: GPL-2.0
"""A kernel tree, tarball, pin and patch queue of a few kilobytes: what the scripts take for the real ones in tests."""

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

MAKEFILE = "# SPDX-License-Identifier: GPL-2.0\nVERSION = {0}\nPATCHLEVEL = {1}\nSUBLEVEL = {2}\nEXTRAVERSION =\nNAME = Small\n"


def make_tree(where: Path, version: str = "7.3.4", files: int = 20, padding: int = 0) -> Path:
    """Write a tree of `files` small C files that says it is Linux `version`; `padding` random-looking bytes beside it."""
    (where / "arch/x86").mkdir(parents=True)
    (where / "lib").mkdir()
    (where / "Makefile").write_text(MAKEFILE.format(*version.split(".")))
    for number in range(files):
        (where / f"lib/file{number}.c").write_text("".join(f"int value_{number}_{line};\n" for line in range(40)))
    if padding:
        blocks = (hashlib.sha256(str(n).encode()).digest() for n in range(padding // 32))
        (where / "lib/padding.bin").write_bytes(b"".join(blocks))
    return where


def make_tarball(tree: Path, tarball: Path) -> Path:
    """Pack `tree` the way linux-source packages are: one directory, xz."""
    subprocess.run(["tar", "-C", tree.parent, "-cJf", tarball, tree.name], check=True)
    return tarball


def make_pin(file: Path, tarball: Path, version: str = "7.3.4", recorded: bool = True) -> Path:
    """A kernel.pin whose only source is kernel.org's layout with `tarball`, with or without its sum; no newer release."""
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest() if recorded else "-"
    file.write_text(f'version={version}\nsources=("url v7.x/{tarball.name} {digest}")\nnewer_suites=()\nnewer_package=none\n')
    return file


def make_queue(where: Path, patches: int, broken: int | None = None,
               groups: tuple[str, ...] = ()) -> Path:
    """A queue of `patches` patches, each changing a line of a file and adding one more file.

    They are preparations, or as many below the gate for each of `groups`; the file they change is
    lib/fileN.c, N the number of the group. Patch `broken` does not apply.
    """
    where.mkdir(parents=True)
    series = [] if groups else ["# --- group preparations: all of it ---"]
    series += ["# --- gated from here ---"]
    each = patches // (len(groups) or 1)
    for number in range(patches):
        group, line = divmod(number, each)
        if groups and line == 0:
            series.append(f"# --- group {groups[group]}: a part of it ---")
        old = [f"int value_{group}_{at};" for at in range(40)]
        old[:line] = [f"int patched_{group}_{at};" for at in range(line)]
        start, end = max(0, line - 3), min(40, line + 4)
        was = "int nowhere_to_be_found;" if number == broken else old[line]
        change = [f"-{was}", f"+int patched_{group}_{line};"]
        around = [f" {text}" for text in old]
        body = [*around[start:line], *change, *around[line + 1:end]]
        span = f"{start + 1},{end - start}"
        name = f"lib-change-file-{number}.patch"
        series.insert(len(series) if groups else -1, name)
        (where / name).write_text(
            f"From: A Person <person@example.org>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\n"
            f"Subject: [PATCH] lib: Change file {number}\n\nChange one line.\n---\n"
            f" lib/file{group}.c | 2 +-\n\n"
            f"--- a/lib/file{group}.c\n+++ b/lib/file{group}.c\n@@ -{span} +{span} @@\n"
            + "\n".join(body) + f"\n--- /dev/null\n+++ b/lib/new{number}.c\n@@ -0,0 +1 @@\n+int new_{number};\n")
    (where / "series").write_text("\n".join(series) + "\n")
    return where


@dataclass(frozen=True)
class Fingerprint:
    """Every file below a directory with its SHA-256 sum: equal if and only if the trees are."""
    sums: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, directory: Path, without: str = ".cache-footprint.git") -> "Fingerprint":
        """Return it for `directory`, but for directories there whose name begins with `without`."""
        paths = [path.relative_to(directory) for path in directory.rglob("*") if path.is_file()]
        return cls(tuple((str(path), hashlib.sha256((directory / path).read_bytes()).hexdigest())
                         for path in sorted(paths) if not path.parts[0].startswith(without)))
