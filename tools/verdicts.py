# SPDX-License-Identifier: GPL-2.0
"""What was proven and has not changed is not proven again: verdicts in the user's cache directory.

    verdicts = Verdicts("identity")
    name = key(series=diffs, config=Path("configs/small.config"), compiler=version("gcc"))
    known = verdicts.lookup(name)
    if known is None:
        ...prove it...
        verdicts.store(name, {"line": "0 differ"})    # only when it passed

The rules for the one who calls: everything that the verdict depends on is in the key, the checking
code too; no absolute path is in it, so that another clone finds the verdict; only what passed is
stored. A result that comes from here is marked "cached": true in tests.json (a pytest test says so
with record_property("cached", True)). FRESH=1 ignores what is stored, and stores anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools import environment

UNUSED_DAYS = 60
VARIABLES = ("CC", "LLVM", "LLVM_IAS", "HOSTCC", "ARCH", "SUBARCH", "CROSS_COMPILE",
             "KCFLAGS", "KAFLAGS", "KCPPFLAGS", "OBJDUMP", "CPATH")


def key(**inputs: Any) -> str:
    """Return the name of a verdict: one hash of all that it depends on.

    Args: inputs by name. A Path counts by the content of the file (a missing file has one of its
    own), anything else must be JSON: strings, numbers, lists, dictionaries.
    Raises OSError for a file that cannot be read, TypeError for what is neither.
    """
    named = {name: content(value) if isinstance(value, Path) else value
             for name, value in inputs.items()}
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()


def content(path: Path) -> str:
    """Return a hash of a file's content, 'missing' when there is no such file; raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "missing"


def contents(root: Path, *patterns: str) -> dict[str, str]:
    """Return the files below root that match the patterns, path below root to hash, for key()."""
    files = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    return {path.relative_to(root).as_posix(): content(path) for path in sorted(files)}


def version(*command: str) -> str:
    """Return what `command --version` prints, 'missing' when it does not run."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return "missing"
    return done.stdout + done.stderr


def toolchain(*compiler: str) -> dict[str, str]:
    """Return the versions of the compiler (default gcc), of binutils and of Python, for key()."""
    words = compiler or ("gcc",)
    tools = {tool: version(tool) for tool in ("as", "ld", "objdump")}
    return {"compiler": version(*words), **tools, "python": platform.python_version()}


def variables() -> dict[str, str]:
    """Return the variables that decide what a build of the kernel makes, for key()."""
    return {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}


class Verdicts:
    """The verdicts of one kind, one JSON file each in CACHE/verdicts/KIND/."""

    def __init__(self, kind: str, directory: Path | None = None, fresh: bool | None = None) -> None:
        """Args: a name for the kind; the cache directory; whether to ignore what is stored."""
        self.directory = (directory or environment.cache()) / "verdicts" / kind
        self.fresh = os.environ.get("FRESH", "") not in ("", "0") if fresh is None else fresh
        self.stored: set[str] = set()

    def lookup(self, name: str) -> Any:
        """Return what was stored under this key, None when nothing whole was.

        FRESH=1 ignores what was stored before this object was made. A verdict that is used is kept
        for longer.
        """
        path = self.directory / f"{name}.json"
        if self.fresh and name not in self.stored:
            return None
        try:
            os.utime(path)
            return json.loads(path.read_text())
        except (OSError, ValueError):
            return None

    def store(self, name: str, value: Any) -> None:
        """Keep a verdict (JSON, not None); the file appears whole, or not at all with a warning."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self.prune()
            handle, scratch = tempfile.mkstemp(dir=self.directory, suffix=".new")
            with os.fdopen(handle, "w") as file:
                file.write(json.dumps(value) + "\n")
            os.replace(scratch, self.directory / f"{name}.json")
            self.stored.add(name)
        except OSError as error:
            print(f"verdicts: not kept: {error}", file=sys.stderr)

    def prune(self) -> None:
        """Remove what nobody has used for UNUSED_DAYS; looks through the directory once a day."""
        stamp, now = self.directory / ".pruned", time.time()
        if stamp.exists() and now - stamp.stat().st_mtime < 86400:
            return
        stamp.touch()
        for path in self.directory.iterdir():
            with suppress(FileNotFoundError):
                if path != stamp and now - path.stat().st_mtime > UNUSED_DAYS * 86400:
                    path.unlink()
