# SPDX-License-Identifier: GPL-2.0
"""Builds and runs the programs of kselftest x86/copyloops: the kernel's routines for user copies in
user space, on the real CPU."""

import re
import shutil
import subprocess
import time
from pathlib import Path

TARGET = "x86/copyloops"
FLUSHCACHE = "arch/x86/lib/usercopy_64.c"
ROUTINES = ("arch/x86/lib/copy_user_64.S", "arch/x86/lib/copy_user_uncached_64.S", FLUSHCACHE)


def build(tree: Path, output: Path, program: str = "copyloops", **variables: Path) -> Path:
    """Build the harness of `tree` into `output`, with make variables; returns one program of it."""
    output.mkdir(parents=True)
    done = subprocess.run(
        ["make", "-C", tree / "tools/testing/selftests", f"TARGETS={TARGET}", f"O={output}",
         *(f"{key}={value}" for key, value in variables.items())],
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = [path for path in output.rglob(program) if path.is_file()]
    assert done.returncode == 0 and found, done.stdout[-2000:] + done.stderr[-2000:]
    return found[0]


def sweep(program: Path, *words: str) -> tuple[dict[str, bool], int, float]:
    """Run the full sweep, or what words say; returns the verdicts of subtests, the number of cases,
    the seconds."""
    start = time.monotonic()
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)
    seconds = time.monotonic() - start
    results = re.findall(r"^(not )?ok \d+ (.*)$", done.stdout, re.M)
    verdicts = {name: not bad for bad, name in results}
    plan = re.search(r"^1\.\.(\d+)$", done.stdout, re.M)
    assert plan and int(plan[1]) == len(verdicts) > 0, f"not the plan: {done.stdout[-2000:]}"
    assert (done.returncode == 0) == all(verdicts.values()), f"{done.returncode}: {verdicts}"
    cases = re.search(r"^# (\d+) cases", done.stdout, re.M)
    assert cases, "the harness does not say how many cases it ran"
    return verdicts, int(cases[1]), seconds


def flushcache(program: Path) -> tuple[int, int]:
    """Run flushcache; returns the number of copies, and of those that leave bytes in the cache."""
    done = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60)
    counts = re.search(r"^# (\d+) cases, (\d+) bad$", done.stdout, re.M)
    assert counts, f"{done.returncode}: {done.stdout[-2000:]}"
    cases, bad = map(int, counts.groups())
    assert (done.returncode == 0) == (cases > 0 and not bad), f"{done.returncode}: {counts[0]}"
    return cases, bad


def failures(verdicts: dict[str, bool]) -> list[str]:
    return sorted(name for name, good in verdicts.items() if not good)


def mistake(tree: Path, file: str, directory: Path, right: str, wrong: str) -> Path:
    """Write a file of the tree with a mistake into a directory, and return it."""
    text = (tree / file).read_text(encoding="utf-8")
    assert text.count(right) == 1, f"{text.count(right)} of {right!r}"
    found = directory / Path(file).name
    found.write_text(text.replace(right, wrong), encoding="utf-8")
    return found


def failures_with(tree: Path, file: str, directory: Path, right: str, wrong: str,
                  *words: str) -> list[str]:
    """Return the subtests that fail with a mistake in one of the routines; words are sweep()'s."""
    for routine in ROUTINES:
        shutil.copy(tree / routine, directory)
    mistake(tree, file, directory, right, wrong)
    return failures(sweep(build(tree, directory / "out", COPYLOOPS_SRC=directory), *words)[0])
