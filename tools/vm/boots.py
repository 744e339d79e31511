# SPDX-License-Identifier: GPL-2.0
"""Boots what the tables say, as many at a time as there are processors.

usage: python -m tools.vm.boots [--when test|make|full] [--list] [NAME...]

They are in configs/tests.toml, which documents them, and selftests/GROUP/group.toml. Without names,
the boots of that occasion. With GROUP= in the environment: the boots of these groups, and the
common ones that they add to. A boot that passed with the same kernel, modules, configuration,
command line, jobs, test programs, checking code, QEMU and Python tools is not booted again: its
results are written with "cached". FRESH=1 boots it all the same.

Reads what tools/environment.py says, and KVM.
Exit status: 0 nothing failed, 1 something did, 2 a table is wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from tools import environment, group_file, groups, proofs, results_file
from tools.groups import GroupError
from tools.results.machine import cpu
from tools.results_file import Result
from tools.vm.boot import OCCASIONS, arguments
from tools.vm.guest import programs

ROOT = groups.ROOT
ALWAYS = "default"  # the boot that every group has
MOST = 4
CHECKERS = ("tools/vm/*.py", "tools/group_file.py", "tools/results_file.py",
            "configs/requirements.txt")


@dataclass(frozen=True)
class Boot:
    """A boot of the tables. options: of boot.py; args: what they say."""

    name: str
    kernel: str
    options: tuple[str, ...]
    args: argparse.Namespace = field(compare=False)


def option(word: str, targets: dict[str, tuple[str, list[str]]]) -> list[str]:
    """Return the options of boot.py for a word; a target has its group's name and environment."""
    key, _, target = word.partition("=")
    if key != "kselftest":
        return [f"--{word}"]
    if target not in targets:
        raise GroupError(f"no target '{target}' in selftests/*/group.toml")
    group, variables = targets[target]
    return [f"--{word}:{group}", *(f"--env={pair}" for pair in variables)]


def read_tables(names: list[str]) -> dict[str, Boot]:
    """Return the boots of configs/tests.toml and of groups, by name; raises GroupError, OSError.

    Args: the groups whose tables are read. Exits with 2 on a word that boot.py does not know.
    """
    targets = groups.kselftests(names)
    found: dict[str, list[str]] = {}
    kernels: dict[str, str] = {}
    for path, file in group_file.read_all(names).items():
        for name, row in file.boots.items():
            if bool(row.kernel) == (name in found):
                raise GroupError(f"{path.parent.name}/{path.name}: boots.{name}: a new boot has a "
                                 "kernel, one that adds to another has none")
            options = found.setdefault(name, [])
            options += [f"--append={word}" for word in row.append.split()]
            options += [one for word in row.words.split() for one in option(word, targets)]
            if row.kernel:
                groups.kernel(row.kernel)
                kernels[name] = row.kernel
    return {name: Boot(name, kernels[name], tuple(options), arguments(
        [name, kernels[name], *options], f"boots.py: boot {name}"))
        for name, options in found.items()}


def chosen(boots: dict[str, Boot], names: list[str], when: str, group_names: list[str]
           ) -> list[Boot]:
    """Return the boots to run; raises GroupError.

    Args: the tables, names from the command line, the occasion, the groups of GROUP= ([]: all).
    """
    if unknown := [name for name in names if name not in boots]:
        raise GroupError(f"no boot '{unknown[0]}' in configs/tests.toml or selftests/*/group.toml")
    own = {ALWAYS, *(name for group in group_names
                     for name in group_file.read(groups.folder(group) / "group.toml").boots)}
    return [boots[name] for name in names] or [
        boot for boot in boots.values()
        if boot.args.when == when and (not group_names or when != "test" or boot.name in own)]


class Runner:
    """Runs boots, each as a process of boot.py, and keeps which of them passed."""

    def __init__(self) -> None:
        self.kernels = environment.of_groups("out")
        self.results = environment.results()
        self.proofs = proofs.Proofs("boot")
        self.running: set[subprocess.Popen] = set()
        self.stopped = False

    def part(self, boot: Boot) -> Path:
        """Return where a boot's results go."""
        return self.results / "parts" / f"vm-{boot.name}.json"

    def command(self, boot: Boot) -> list[str]:
        """Return the command line of boot.py."""
        return [sys.executable, "-m", "tools.vm.boot", boot.name, f"{self.kernels / boot.kernel}",
                *boot.options]

    def key(self, boot: Boot) -> str:
        """Return the hash of all that the verdict on a boot depends on."""
        out = self.kernels / boot.kernel
        kvm = os.environ.get("KVM", "0")
        return proofs.key(
            name=boot.name, options=boot.options, kvm=kvm,
            qemu=proofs.version("qemu-system-x86_64"), image=out / "arch/x86/boot/bzImage",
            config=out / ".config", modules=proofs.contents(out / "modules", "**/*"),
            programs=proofs.contents(programs(), "**/*") if boot.args.programs else {},
            checkers={name: content for name, content in proofs.contents(ROOT, *CHECKERS).items()
                      if not Path(name).name.startswith("test_")},
            lists=[repr((file.ids, file.allow)) for file in group_file.read_all().values()],
            parser=proofs.contents(environment.tree(), "tools/testing/kunit/*.py"),
            # The guest's root file system is the host's
            packages=Path("/var/lib/dpkg/status"),
            host=[platform.release(), cpu()] if kvm == "1" else [])

    def failed(self, boot: Boot, reason: str) -> bool:
        """Write that a boot gave no results of its own; returns False."""
        results_file.write(self.part(boot), [Result(f"vm/boot_{boot.name}", "fail", reason)])
        print(f"FAIL vm/boot_{boot.name}: {reason}", flush=True)
        return False

    def __call__(self, boot: Boot) -> bool:
        """Run a boot, or take what is known of it; returns whether it passed."""
        if self.stopped:
            return False
        out = self.kernels / boot.kernel
        if not all((out / name).is_file() for name in ("arch/x86/boot/bzImage", ".series")):
            return self.failed(boot, f"no kernel in {out.relative_to(self.kernels.parent)}, "
                                     "or its last build failed")
        key = self.key(boot)
        if (rows := self.proofs.lookup(key)) is not None:
            results_file.write(self.part(boot), [
                replace(results_file.checked(row, boot.name), cached=True) for row in rows])
            print(f"vm/boot_{boot.name}: passed before with this kernel and these tests "
                  f"({len(rows)} results)", flush=True)
            return True
        code, printed = self.boot(boot)
        try:
            results = results_file.read(self.part(boot))
        except (OSError, ValueError):
            last = (printed.strip().splitlines() or [""])[-1]
            return self.failed(boot, f"boot.py: exit status {code}: {last}")
        # What was tested may have been built anew meanwhile
        failures = any(result.status == "fail" for result in results)
        if code == 0 and not failures and key == self.key(boot):
            self.proofs.store(key, [result.row() for result in results])
        return code == 0

    def boot(self, boot: Boot) -> tuple[int, str]:
        """Run boot.py; returns its exit status and what it printed, which is shown in one piece."""
        self.part(boot).unlink(missing_ok=True)
        process = subprocess.Popen(
            self.command(boot), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        self.running.add(process)
        if self.stopped:  # meanwhile
            process.terminate()
        printed, _ = process.communicate()
        self.running.discard(process)
        print(printed, end="", flush=True)
        return process.returncode, printed

    def stop(self, *_: object) -> None:
        """Start no more boots and end those that run: each writes that it was interrupted."""
        self.stopped = True
        for process in list(self.running):
            process.terminate()

    def all(self, boots: list[Boot]) -> bool:
        """Run boots, JOBS= at a time; returns if all passed."""
        with ThreadPoolExecutor(max_workers=min(environment.jobs(), MOST)) as pool:
            return all(list(pool.map(self, boots)))


def main(argv: list[str] | None = None) -> int:
    """Boot what was asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--when", choices=OCCASIONS, default="test",
                        help="the occasion (default: test)")
    parser.add_argument("--list", action="store_true", help="print name and kernel of each")
    parser.add_argument("names", nargs="*", help="boots by name")
    args = parser.parse_args(argv)
    try:
        everything = groups.chosen(groups.queue())
        selected = everything if environment.chosen() else []
        boots = chosen(read_tables(everything), args.names, args.when, selected)
        if not boots:
            raise GroupError(f"no boot for {args.when}")
    except (OSError, ValueError) as error:
        print(f"boots.py: error: {error}", file=sys.stderr)
        return 2
    if args.list:
        print("\n".join(f"{boot.name} {boot.kernel}" for boot in boots))
        return 0
    runner = Runner()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, runner.stop)
    passed = runner.all(boots)
    return 130 if runner.stopped else int(not passed)


if __name__ == "__main__":
    sys.exit(main())
