# SPDX-License-Identifier: GPL-2.0
"""The boots: configs/tests.toml, which documents them, and selftests/GROUP/group.toml."""

import re
import shlex
from dataclasses import dataclass, replace

from tools import environment, group_toml, groups
from tools.group_toml import BootTable, GroupError

ALWAYS = "default"  # the boot that every group has


@dataclass(frozen=True)
class Job:
    """What runs in a boot: the KUnit tests built in, which run while it boots; a target of
    kselftests; or any command of the host that prints KTAP (version line, plan, results).

    kind: kunit, kselftest or cmd; what: target or command; part: of its tests' ids.
    """

    kind: str
    what: str
    part: str

    def __str__(self) -> str:
        return f"{self.kind}={self.what}" if self.what else self.kind


KUNIT = Job("kunit", "", "kunit")


@dataclass(frozen=True)
class Boot:
    """A boot: its jobs in order, and its row of the tables."""

    name: str
    jobs: tuple[Job, ...]
    row: BootTable

    @property
    def programs(self) -> bool:
        """Whether it needs the installed kselftests."""
        return any(job.kind == "kselftest" for job in self.jobs)

    def commands(self) -> dict[Job, str]:
        """Return the guest's command of each job but KUnit."""
        limit = ["-o", str(self.row.timeout)] if self.row.timeout else []
        runner = f"{environment.kernel()}/kselftest/run_kselftest.sh"
        return {job: job.what if job.kind == "cmd" else shlex.join([runner, "-c", job.what, *limit])
                for job in self.jobs if job != KUNIT}


def read_tables(names: list[str]) -> dict[str, Boot]:
    """Return the boots of configs/tests.toml and of groups, by name; raises GroupError, OSError.

    Args: the groups whose tables are read.
    """
    targets = groups.kselftests(names)
    found: dict[str, Boot] = {}
    for path, file in group_toml.read_all(names).items():
        for name, row in file.boots.items():
            try:
                found[name] = joined(name, found.get(name), row, targets)
            except GroupError as error:
                raise GroupError(f"{path.parent.name}/{path.name}: boots.{name}: {error}") from None
    return found


def joined(name: str, old: Boot | None, row: BootTable, targets: dict[str, tuple[str, list[str]]]
           ) -> Boot:
    """Return the boot of a row, or an earlier one with what the row adds; raises GroupError."""
    if bool(row.kernel) == bool(old):
        raise GroupError("a new boot has a kernel, one that adds to another has none")
    if unknown := [target for target in row.kselftests if target not in targets]:
        raise GroupError(f"no target '{unknown[0]}' in [kselftests] of selftests/*/group.toml")
    jobs = [Job("kselftest", target, targets[target][0]) for target in row.kselftests]
    row = replace(row, env=[*(pair for target in row.kselftests for pair in targets[target][1]),
                            *row.env])
    if old:
        return replace(old, jobs=(*old.jobs, *jobs), row=old.row.plus(row))
    groups.kernel(row.kernel)
    boot = Boot(name, (*[KUNIT] * row.kunit, *jobs), row)
    if not boot.jobs or not re.fullmatch(r"[\w-]+", name):
        raise GroupError("not a name" if boot.jobs else "no job")
    return boot


def chosen(boots: dict[str, Boot], names: list[str], when: str, group_names: list[str]
           ) -> list[Boot]:
    """Return the boots to run; raises GroupError.

    Args: the tables, names from the command line, the occasion, the groups of GROUP= ([]: all).
    """
    if unknown := [name for name in names if name not in boots]:
        raise GroupError(f"no boot '{unknown[0]}' in configs/tests.toml or selftests/*/group.toml")
    own = {ALWAYS, *(name for group in group_names
                     for name in group_toml.read(groups.folder(group) / "group.toml").boots)}
    return [boots[name] for name in names] or [
        boot for boot in boots.values()
        if boot.row.when == when and (not group_names or when != "test" or boot.name in own)]
