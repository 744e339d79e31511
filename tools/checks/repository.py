# SPDX-License-Identifier: GPL-2.0
"""The files of the repository, for the checks of them."""

from pathlib import Path

from tools.command import must

BINARY_SUFFIXES = {".png", ".gz", ".xz", ".pdf"}


def repo_files(root: Path) -> list[Path]:
    """Return the files of the repository that git would keep, sorted."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = must(words, root).split("\0")
    return sorted(root / name for name in names if name and (root / name).is_file())


def is_text(path: Path) -> bool:
    """Whether a file is text; links are not."""
    binary = path.suffix in BINARY_SUFFIXES or path.is_symlink()
    return not binary and b"\0" not in path.read_bytes()
