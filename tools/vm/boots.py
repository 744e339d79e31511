# SPDX-License-Identifier: GPL-2.0
"""Boots what the tables say (tools/vm/tables.py), JOBS= at a time.

usage: tools/run tools.vm.boots [--when test|make|full] [--list] [NAME...]

Without names, the boots of that occasion. With GROUP= in the environment: the boots of these
groups, and the common ones that they add to. A boot that passed with the same kernel, modules,
configuration, row, jobs, test programs, checking code, QEMU and Python tools is not booted again:
its results are written with "cached". FRESH=1 boots it all the same. KVM=1 uses KVM, not TCG.

Exit status: 0 nothing failed, 1 something did, 2 a table is wrong, 130 interrupted.
"""

import argparse
import os
import platform
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

from tools import environment, group_toml, groups, verdicts
from tools.figures.machine import cpu
from tools.group_toml import OCCASIONS, GroupError
from tools.results import Result, checked_result, write_results
from tools.vm import boot as one
from tools.vm.tables import Boot, chosen, read_tables

ROOT = groups.ROOT
MOST = 4
CHECKERS = ("tools/vm/*.py", "tools/group_toml.py", "tools/results.py",
            "configs/requirements.txt")


class Runner:
    """Runs boots, writes their results, and keeps which of them passed."""

    def __init__(self) -> None:
        self.kernels = environment.of_groups("out")
        self.results = environment.results()
        self.verdicts = verdicts.Verdicts("boot")
        self.kvm = os.environ.get("KVM", "0")
        self.stopped = Event()

    def key(self, boot: Boot) -> str:
        """Return the hash of all that the verdict on a boot depends on."""
        out = self.kernels / boot.row.kernel
        return verdicts.key(
            boot=repr(boot), kvm=self.kvm,
            qemu=verdicts.version("qemu-system-x86_64"), image=out / one.IMAGE,
            config=out / ".config", modules=verdicts.contents(out / "modules", "**/*"),
            programs=verdicts.contents(environment.kernel() / "kselftest", "**/*")
            if boot.programs else {},
            checkers={name: content for name, content in verdicts.contents(ROOT, *CHECKERS).items()
                      if not Path(name).name.startswith("test_")},
            lists=[repr((file.ids, file.allow)) for file in group_toml.read_all().values()],
            parser=verdicts.contents(environment.tree(), "tools/testing/kunit/*.py"),
            # The guest's root file system is the host's
            packages=Path("/var/lib/dpkg/status"),
            host=[platform.release(), cpu()] if self.kvm == "1" else [])

    def write(self, boot: Boot, results: list[Result], said: str = "") -> bool:
        """Write and print the results of a boot; returns whether it passed."""
        write_results(self.results / f"parts/vm-{boot.name}.json", results)
        print(said or one.summary(results, self.results / f"vm-{boot.name}"), flush=True)
        return not one.failures(results)

    def __call__(self, boot: Boot) -> bool:
        """Run a boot, or take what is known of it; returns whether it passed."""
        if self.stopped.is_set():
            return False
        try:
            out = self.kernels / boot.row.kernel
            if not all((out / name).is_file() for name in (one.IMAGE, ".series")):
                raise GroupError(f"no kernel in {out.relative_to(self.kernels.parent)}, "
                                 "or its last build failed: tools/kernel.sh "
                                 f"{boot.row.kernel} builds it")
            key = self.key(boot)
            if (rows := self.verdicts.lookup(key)) is not None:
                known = [replace(checked_result(row, boot.name), cached=True) for row in rows]
                return self.write(boot, known, f"vm/boot_{boot.name}: passed before with this "
                                  f"kernel and these tests ({len(rows)} results)")
            results = one.run(boot, out, self.results, self.stopped, self.kvm == "1")
        except (GroupError, OSError) as error:
            return self.write(boot, [Result(f"vm/boot_{boot.name}", "fail", str(error))])
        passed = self.write(boot, results)
        # What was tested may have been built anew meanwhile
        if passed and key == self.key(boot):
            self.verdicts.store(key, [result.row() for result in results])
        return passed

    def all(self, boots: list[Boot]) -> int:
        """Run boots, JOBS= at a time; returns the exit status. SIGINT and SIGTERM start no more and
        end those that run: each writes that it was interrupted."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stopped.set())
        with ThreadPoolExecutor(max_workers=min(environment.jobs(), MOST)) as pool:
            passed = all(list(pool.map(self, boots)))
        return 130 if self.stopped.is_set() else int(not passed)


def main(argv: list[str] | None = None) -> int:
    """Boot what was asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--when", choices=OCCASIONS, default=OCCASIONS[0],
                        help=f"the occasion (default: {OCCASIONS[0]})")
    parser.add_argument("--list", action="store_true", help="print name and kernel of each")
    parser.add_argument("names", nargs="*", help="boots by name")
    args = parser.parse_args(argv)
    try:
        everything = groups.chosen(groups.series())
        selected = everything if environment.chosen() else []
        boots = chosen(read_tables(everything), args.names, args.when, selected)
        if not boots:
            raise GroupError(f"no boot for {args.when}")
    except (OSError, ValueError) as error:
        print(f"boots.py: error: {error}", file=sys.stderr)
        return 2
    if args.list:
        print("\n".join(f"{boot.name} {boot.row.kernel}" for boot in boots))
        return 0
    return Runner().all(boots)


if __name__ == "__main__":
    sys.exit(main())
