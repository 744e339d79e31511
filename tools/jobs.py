# SPDX-License-Identifier: GPL-2.0
"""The slow jobs of make test-full: jobs of configs/tests.toml, which documents them, and of groups.

  jobs.py list         each job with its minutes and what it shows
  jobs.py run NAME     does its work, unless it passed with the same inputs (FRESH=1: in any case)

Words of the work: packages=SECTION installs a section of configs/packages (what cannot be
installed is skipped by the tests that need it), kernel=NAME builds a kernel, kselftests builds
these, boot=NAME runs a boot, test=FILE[::FUNCTION] runs the tests of the job's folder that are
marked full.
"""

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from tools import environment, group_toml, groups, verdicts
from tools.environment import ROOT
from tools.results import checked_result, read_results, write_results
from tools.tree.sources import fingerprint, listing

PROGRAMS = ("gcc", "ld", "quilt", "git", "python3", "clang-19", "qemu-system-x86_64",
            "qemu-system-i386", "aarch64-linux-gnu-gcc")


@dataclass(frozen=True)
class Job:
    """A slow job. folder: where its tests are; minutes: on two idle cores; work: words as above."""

    name: str
    folder: Path
    minutes: int
    work: tuple[str, ...]
    what: str

    def tests(self) -> list[str]:
        """Return pytest's arguments for its tests."""
        return [f"{self.folder}/{word[5:]}" for word in self.work if word.startswith("test=")]


def read_jobs() -> dict[str, Job]:
    """Return the jobs of all folders by name; raises GroupError."""
    rooms = [name for name in groups.chosen(groups.series()) if groups.folder(name).is_dir()]
    jobs: dict[str, Job] = {}
    others = {group.name for group in groups.series().groups} - set(rooms)
    common, *files = group_toml.read_all().items()
    for path, file in [*files, common]:
        if path.parent.name in others:
            continue
        for pattern, row in file.jobs.items():
            for room in rooms if "*" in pattern else [""]:
                name, work = pattern.replace("*", room), row.work.replace("*", room).split()
                if name in jobs or not work:
                    raise groups.GroupError(f"{path.parent.name}/{path.name}: jobs.{name}: "
                                            "a new name and work expected")
                folder = ROOT / row.folder if row.folder else path.parent
                jobs[name] = Job(name, folder, row.minutes, tuple(work), row.shows)
    return jobs


def named(name: str) -> Job:
    """Return a job by its name; raises GroupError."""
    jobs = read_jobs()
    if name not in jobs:
        raise groups.GroupError(f"no job '{name}'; there are: {' '.join(jobs)}")
    return jobs[name]


def key(job: Job) -> str:
    """Return the hash of all that the verdict on a job depends on: repository, tree, tools. The
    published results are read by the job that looks for stale ones."""
    read = ["patches", "configs", "tools", "selftests"]
    read += ["Documentation/results"] if job.folder.name == "figures" else []
    files = verdicts.contents(ROOT, "series", "Makefile", "pytest.ini",
                            *(f"{name}/**/*" for name in read))
    tree = environment.tree()
    touched = {path: verdicts.content(tree / path) for path in groups.series().paths}
    return verdicts.key(
        name=job.name, work=job.work, kvm=os.environ.get("KVM", "0"),
        variables=verdicts.variables(),
        compiler=verdicts.toolchain(*os.environ.get("CC", "gcc").split()),
        files={name: content for name, content in files.items() if "__pycache__" not in name},
        tree=touched, base=fingerprint(listing(tree), set(touched)),
        tools={name: verdicts.version(name) for name in PROGRAMS})


def work(job: Job, results: Path) -> tuple[bool, list[Path]]:
    """Do the work of a job, all of it; returns whether all of it passed, and the result files."""
    passed, parts = True, []
    for word in job.work:
        kind, _, what = word.partition("=")
        command = {"packages": ["tools/install.sh", what], "kernel": ["tools/kernel.sh", what],
                   "kselftests": ["tools/kselftests.sh"],
                   "boot": [sys.executable, "-m", "tools.vm.boots", what]}.get(kind)
        if kind == "boot":
            parts.append(results / f"parts/vm-{what}.json")
        elif kind != "test" and not command:
            raise groups.GroupError(f"jobs.{job.name}.work: unknown word {word}")
        if command:
            done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL)
            passed &= done.returncode == 0 or kind == "packages"
    if job.tests():
        name = f"job-{job.name}"
        command = ["tools/run", "pytest", f"--part={name}", "-m", "full", *job.tests()]
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL)
        passed &= done.returncode == 0
        parts.append(results / f"parts/{name}.json")
    return passed, parts


def run(job: Job) -> bool:
    """Do a job, or take what is known of it; returns whether it passed."""
    store = verdicts.Verdicts("job")
    results = environment.results()
    name = key(job)
    if (rows := store.lookup(name)) is not None:
        known = [replace(checked_result(row, job.name), cached=True) for row in rows]
        write_results(results / f"parts/job-{job.name}.json", known)
        print(f"job {job.name}: passed before with the same inputs, {len(rows)} results")
        return True
    passed, parts = work(job, results)
    found = {part: read_results(part) for part in parts if part.is_file()}
    # What a boot skips it skips again; a test on the host may have missed a package
    skipped = [result for part, rows in found.items() if not part.name.startswith("vm-")
               for result in rows if result.status == "skip"]
    if passed and found and not skipped:
        store.store(name, [result.row() for rows in found.values() for result in rows])
    return passed


def main(what: str = "", name: str = "") -> int:
    """Do what the first word says; see above. Returns the exit status."""
    if what == "run":
        return 0 if run(named(name)) else 1
    if what != "list":
        raise groups.GroupError("usage: jobs.py list | run NAME")
    for job in read_jobs().values():
        print(f"{job.name}\t{job.minutes}\t{job.what}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (ImportError, OSError, TypeError, ValueError) as error:
        sys.exit(f"jobs.py: error: {error}")
