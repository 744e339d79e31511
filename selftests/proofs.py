# SPDX-License-Identifier: GPL-2.0
"""Keeps what passed, under a key of all that it depends on, so that it is not proven again.

The store is $CF_CACHE/verdicts/KIND/KEY, one JSON file each. Only passes are kept. FRESH=1 ignores what is there.
"""

import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

DAYS = 30


@functools.lru_cache(maxsize=None)
def version(program: str) -> str:
    """Return what a program says of its version; its name and "absent" when it is not installed."""
    path = shutil.which(program)
    if not path:
        return f"{program} absent"
    done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return f"{program} {done.stdout.strip()}"


def _content(path: Path) -> str:
    """Return the hash of a file, or of the names and files below a directory; "absent" without either."""
    digest = hashlib.sha256()
    if path.is_file():
        digest.update(path.read_bytes())
    elif path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_symlink():
                digest.update(f"{file.relative_to(path)} -> {os.readlink(file)}\n".encode())
            elif file.is_file():
                digest.update(f"{file.relative_to(path)} {_content(file)}\n".encode())
    else:
        return "absent"
    return digest.hexdigest()


def key(*parts: str | Path) -> str:
    """Return one hash of texts as they are and of what files and directories hold, in this order."""
    digest = hashlib.sha256()
    for part in parts:
        text = f"file {part.name} {_content(part)}" if isinstance(part, Path) else f"text {part}"
        digest.update(f"{len(text)} {text}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


class Store:
    """The passes of one kind."""

    def __init__(self, kind: str, cache: Path | None = None) -> None:
        """kind: its directory; cache: default $CF_CACHE or ~/.cache/cache-footprint."""
        cache = cache or Path(os.environ.get("CF_CACHE") or Path.home() / ".cache/cache-footprint")
        self.directory = cache / "verdicts" / kind

    def lookup(self, name: str) -> Any | None:
        """Return what was stored under a key, None when nothing was, or with FRESH=1."""
        path = self.directory / name
        try:
            found = None if os.environ.get("FRESH") == "1" else json.loads(path.read_text())
        except (OSError, ValueError):
            return None
        if found is not None:
            os.utime(path)
        return found

    def store(self, name: str, value: Any) -> None:
        """Store a value under a key, whole or not at all, and forget what was not used for DAYS."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=self.directory, prefix=".new-", delete=False) as file:
            json.dump(value, file)
        os.replace(file.name, self.directory / name)
        self.prune()

    def prune(self, days: float = DAYS) -> None:
        """Remove what was not used for a number of days."""
        for path in self.directory.iterdir():
            try:
                if time.time() - path.stat().st_mtime > days * 86400:
                    path.unlink()
            except FileNotFoundError:
                continue
