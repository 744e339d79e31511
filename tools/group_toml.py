# SPDX-License-Identifier: GPL-2.0
"""Reads configs/tests.toml, which documents the tables, and selftests/GROUP/group.toml."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_origin

from tools.environment import ROOT

NAMES = {str: "a string", int: "an integer", bool: "true or false", list: "a list", dict: "a table"}
OCCASIONS = ("test", "make", "full")


class GroupError(ValueError):
    """A file or a tree is not as it should be; the text is one line."""


@dataclass(frozen=True)
class BootTable:
    """A boot. kernel: "" for what adds to a boot of another file."""

    kernel: str = ""
    append: str = ""
    kunit: bool = True
    kselftests: list[str] = field(default_factory=list)
    cpus: int = 2
    cpu: str = ""
    memory: str = "1G"
    time_limit: int = 600
    timeout: int = 0
    env: list[str] = field(default_factory=list)
    allow: list[str] = field(default_factory=list)
    when: str = OCCASIONS[0]

    def __post_init__(self) -> None:
        """Raise GroupError for an occasion that there is not."""
        if self.when not in OCCASIONS:
            raise GroupError(f"when: {' or '.join(OCCASIONS)} expected, not {self.when!r}")

    def plus(self, more: "BootTable") -> "BootTable":
        """Return this with what another one adds; raises GroupError if that has more keys."""
        lists = {name: getattr(more, name) for name in ("append", "kselftests", "env", "allow")}
        if more != BootTable(**lists):
            raise GroupError("what adds to a boot has append, kselftests, env and allow")
        both = {name: getattr(self, name) + value for name, value in lists.items()}
        return replace(self, **both | {"append": f"{self.append} {more.append}"})


@dataclass(frozen=True)
class JobTable:
    """A slow job. folder: of its tests below the repository, "" for that of the file."""

    minutes: int
    work: str
    shows: str
    folder: str = ""


@dataclass(frozen=True)
class TimeTable:
    """A program that make time runs. command: of the shell, with $FILE, a file to read, $DIR, a
    directory, and $PROGRAM, what source below the group's folder is compiled to; prints: a regular
    expression whose group is the figure, "" for its CPU time in ms; disk: it writes to DIR=."""

    command: str
    shows: str
    unit: str = "ms"
    prints: str = ""
    source: str = ""
    disk: bool = False


@dataclass(frozen=True)
class Allow:
    """What may be in a log: patterns of splats, and taint bits, each with its reason."""

    splat: dict[str, str] = field(default_factory=dict)
    taint: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise GroupError for what is no pattern or no number, and for a missing reason."""
        for text, reason in (self.splat | self.taint).items():
            try:
                (int if text in self.taint else re.compile)(text)
                if not reason:
                    raise ValueError("no reason")
            except (re.error, ValueError) as error:
                raise GroupError(f"{text}: {error}") from error


@dataclass(frozen=True)
class GroupFile:
    """The tables of a file, each by name in the order of the file."""

    kernels: dict[str, str] = field(default_factory=dict)
    kselftests: dict[str, str] = field(default_factory=dict)
    boots: dict[str, BootTable] = field(default_factory=dict)
    jobs: dict[str, JobTable] = field(default_factory=dict)
    time: dict[str, TimeTable] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    allow: dict[str, Allow] = field(default_factory=dict)


def checked(form: Any, value: Any, key: str = "") -> Any:
    """Return a value of TOML in its form; raises GroupError, which names the key.

    Args: str, int, bool, a list or a dictionary of one form or one of the classes; the value; its
    key, with dots.
    """
    kind = dict if is_dataclass(form) else get_origin(form) or form
    if type(value) is not kind:
        raise GroupError(f"{key}: {NAMES[kind]} expected")
    if kind is list:
        return [checked(get_args(form)[0], one, key) for one in value]
    if kind is not dict:
        return value
    if not is_dataclass(form):
        return {name: checked(get_args(form)[1], one, f"{key}.{name}")
                for name, one in value.items()}
    known = {one.name: one for one in fields(form)}
    # What must be given has MISSING as both
    need = [name for name, one in known.items() if one.default is one.default_factory]
    if wrong := [name for name in (*value, *need) if name not in known or name not in value]:
        raise GroupError(f"{key}.{wrong[0]}: {'unknown' if wrong[0] in value else 'missing'} key")
    found = {name: checked(known[name].type, one, f"{key}.{name}") for name, one in value.items()}
    try:
        return form(**found)
    except GroupError as error:
        raise GroupError(f"{key}: {error}") from None


def read(path: Path) -> GroupFile:
    """Return the tables of a file, empty ones when there is none; raises GroupError, OSError."""
    import tomllib  # here: make apply does without it, and takes a Python before 3.11, too
    try:
        return checked(GroupFile, tomllib.loads(path.read_text()) if path.is_file() else {})
    except ValueError as error:
        raise GroupError(f"{path.parent.name}/{path.name}: {str(error).lstrip('.')}") from error


def read_all(groups: Iterable[str] = ("*",)) -> dict[Path, GroupFile]:
    """Return the tables of configs/tests.toml, then of groups, by default of all by name.

    Raises GroupError, OSError.
    """
    paths = (path for name in groups for path in sorted(ROOT.glob(f"selftests/{name}/group.toml")))
    return {path: read(path) for path in (ROOT / "configs/tests.toml", *paths)}
