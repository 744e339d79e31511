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


def make_queue(where: Path, patches: int, broken: int | None = None) -> Path:
    """A queue of `patches` patches, each changing lib/file0.c and one more file; patch `broken` does not apply."""
    where.mkdir(parents=True)
    names = []
    for number in range(patches):
        old = [f"int value_0_{line};" for line in range(40)]
        for earlier in range(number):
            old[earlier % 40] = f"int patched_{earlier};"
        context_start = max(0, number % 40 - 3)
        context_end = min(40, number % 40 + 4)
        body = []
        for line in range(context_start, context_end):
            if line == number % 40:
                body += ["-" + ("int nowhere_to_be_found;" if number == broken else old[line]), f"+int patched_{number};"]
            else:
                body.append(" " + old[line])
        count = context_end - context_start
        name = f"lib-change-file-{number}.patch"
        names.append(name)
        (where / name).write_text(
            f"From: A Person <person@example.org>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\n"
            f"Subject: [PATCH] lib: Change file {number}\n\nChange one line.\n---\n lib/file0.c | 2 +-\n\n"
            f"--- a/lib/file0.c\n+++ b/lib/file0.c\n@@ -{context_start + 1},{count} +{context_start + 1},{count} @@\n"
            + "\n".join(body) + f"\n--- /dev/null\n+++ b/lib/new{number}.c\n@@ -0,0 +1 @@\n+int new_{number};\n")
    (where / "series").write_text("# --- group preparations: all of it ---\n" + "\n".join(names) + "\n# --- gated from here ---\n")
    return where


@dataclass(frozen=True)
class Fingerprint:
    """Every file below a directory with its SHA-256 sum: equal if and only if the trees are."""
    sums: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, directory: Path) -> "Fingerprint":
        return cls(tuple(sorted((str(path.relative_to(directory)), hashlib.sha256(path.read_bytes()).hexdigest())
                                for path in directory.rglob("*") if path.is_file())))
