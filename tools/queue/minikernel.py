# SPDX-License-Identifier: GPL-2.0
"""A kernel tree, tarball, pin and patch queue of a few kilobytes, for tests of the scripts."""

import hashlib
import subprocess
from pathlib import Path

SPDX = "# SPDX-License-Identifier: GPL-2.0\n"
MAKEFILE = SPDX + "VERSION = {0}\nPATCHLEVEL = {1}\nSUBLEVEL = {2}\nEXTRAVERSION =\nNAME = Small\n"
PIN = """version=7.3.4
pinned="later linux-source-7.3 7.3.4-1 linux-source-7.3.tar.xz {digest}"
newer_suites=()
newer_package=none
"""
PATCH = """From: A Person <person@example.org>
Date: Thu, 1 Jan 2026 00:00:00 +0000
Subject: [PATCH] lib: Change file {number}

Change one line.
---
 lib/file{group}.c | 2 +-

--- a/lib/file{group}.c
+++ b/lib/file{group}.c
@@ -{span} +{span} @@
{body}
--- /dev/null
+++ b/lib/new{number}.c
@@ -0,0 +1 @@
+int new_{number};
"""


def make_tree(where: Path, version: str = "7.3.4") -> Path:
    """Write a tree of 20 small C files that says it is Linux `version`."""
    (where / "arch/x86").mkdir(parents=True)
    (where / "lib").mkdir()
    (where / "Makefile").write_text(MAKEFILE.format(*version.split(".")))
    for number in range(20):
        lines = [f"int value_{number}_{line};\n" for line in range(40)]
        (where / f"lib/file{number}.c").write_text("".join(lines))
    return where


def make_tarball(tree: Path, tarball: Path) -> Path:
    """Pack `tree` the way linux-source packages are: one directory, xz."""
    subprocess.run(["tar", "-C", tree.parent, "-cJf", tarball, tree.name], check=True)
    return tarball


def make_pin(file: Path, tarball: Path) -> Path:
    """Write a kernel.pin that names a package with `tarball` in it."""
    file.write_text(PIN.format(digest=hashlib.sha256(tarball.read_bytes()).hexdigest()))
    return file


def make_queue(where: Path, patches: int, broken: int | None = None,
               groups: tuple[str, ...] = ()) -> Path:
    """Write a queue of `patches` patches, each changing a line of a file and adding one more file.

    They are preparations, or as many below the gate for each of `groups`; the file they change is
    lib/fileN.c, N the number of the group. Patch `broken` does not apply.
    """
    where.mkdir(parents=True)
    gate, banner = "# --- gated from here ---", "# --- group {}: a part of it ---"
    series = [gate] if groups else [banner.format("preparations")]
    each = patches // (len(groups) or 1)
    for number in range(patches):
        group, line = divmod(number, each)
        if groups and line == 0:
            series.append(banner.format(groups[group]))
        start, end = max(0, line - 3), min(40, line + 4)
        was = "nowhere_to_be_found" if number == broken else f"value_{group}_{line}"
        body = [f" int patched_{group}_{at};" for at in range(start, line)]
        body += [f"-int {was};", f"+int patched_{group}_{line};"]
        body += [f" int value_{group}_{at};" for at in range(line + 1, end)]
        series.append(f"lib-change-file-{number}.patch")
        (where / series[-1]).write_text(PATCH.format(
            number=number, group=group, span=f"{start + 1},{end - start}", body="\n".join(body)))
    series += [] if groups else [gate]
    (where / "series").write_text("\n".join(series) + "\n")
    return where


def sums(directory: Path, without: tuple[str, ...] = (".cache-footprint.git", ".git")
         ) -> dict[str, str]:
    """Return the SHA-256 sum of every file below a directory, by path.

    Left out are directories in it whose name begins with one of `without`.
    """
    paths = [path.relative_to(directory) for path in directory.rglob("*") if path.is_file()]
    return {str(path): hashlib.sha256((directory / path).read_bytes()).hexdigest()
            for path in paths if not path.parts[0].startswith(without)}
