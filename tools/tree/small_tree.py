# SPDX-License-Identifier: GPL-2.0
"""A kernel tree, tarball, pin and patch queue of a few kilobytes, for tests of the scripts."""

import subprocess
from pathlib import Path

from tools.verdicts import content
from tools.tree.small_series import MAKEFILE, Builder, write_files

PIN = """version=7.3.4
pinned="later linux-source-7.3 7.3.4-1 linux-source-7.3.tar.xz {digest}"
newer_suites=()
newer_package=none
"""


def module(command: str) -> str:
    """Return the module that runs a command on a kernel tree."""
    return {"status": "tools.tree.status", "branch": "tools.send.git",
            "export": "tools.send.git"}.get(command, "tools.tree.apply")


def kernel_files(version: str = "7.3.4") -> dict[str, str]:
    """Return 20 small C files and what says that they are Linux `version`, by path."""
    files = {"Makefile": MAKEFILE.format(*version.split(".")), "arch/x86/Kconfig": "# none\n"}
    for number in range(20):
        lines = [f"int value_{number}_{line};\n" for line in range(40)]
        files[f"lib/file{number}.c"] = "".join(lines)
    return files


def make_tree(where: Path, version: str = "7.3.4") -> Path:
    """Write a kernel tree of these files."""
    return write_files(where, kernel_files(version))


def make_tarball(tree: Path, tarball: Path) -> Path:
    """Pack `tree` the way linux-source packages are: one directory, xz."""
    subprocess.run(["tar", "-C", tree.parent, "-cJf", tarball, tree.name], check=True)
    return tarball


def make_pin(file: Path, tarball: Path) -> Path:
    """Write a kernel.pin that names a package with `tarball` in it."""
    file.write_text(PIN.format(digest=content(tarball)))
    return file


def make_queue(where: Path, patches: int, broken: int | None = None,
               groups: tuple[str, ...] = ()) -> Path:
    """Write a queue of `patches` patches, each changing a line of a file and adding one more file.

    They are preparations, or as many below the gate for each of `groups`; the file they change is
    lib/fileN.c, N the number of the group. Patch `broken` does not apply.
    """
    builder = Builder(where, kernel_files())
    for number in range(patches):
        group, line = divmod(number, patches // (len(groups) or 1))
        if groups and line == 0:
            builder.group(groups[group])
        path, value = f"lib/file{group}.c", f"value_{group}_{line};"
        text = builder.tree[path].replace(value, f"patched_{group}_{line};")
        new = {f"lib/new{number}.c": f"int new_{number};\n"}
        builder.edit(f"lib: Change file {number}", {path: text, **new})
    builder.write()
    if broken is not None:
        builder.alter(f"lib: Change file {broken}", "-int value_", "-int nowhere_")
    return builder.patches


def sums(directory: Path, without: tuple[str, ...] = (".git",)) -> dict[str, str]:
    """Return the SHA-256 sum of every file below a directory, by path.

    Left out are directories in it whose name begins with one of `without`.
    """
    paths = [path.relative_to(directory) for path in directory.rglob("*") if path.is_file()]
    return {str(path): content(directory / path)
            for path in paths if not path.parts[0].startswith(without)}
