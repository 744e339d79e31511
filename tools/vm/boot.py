# SPDX-License-Identifier: GPL-2.0
"""Boots one kernel under QEMU, runs jobs in it and judges the whole boot.

usage: python -m tools.vm.boot NAME KERNEL --WORD... --append=PARAMETER... --cmd=COMMAND:PART...

A boot passes if its end mark is seen, every job has a complete plan and a test that is not skipped,
the console log has no splat, no taint but the allowed ones is set at the end, and the time limit
held. Each subtest is a test of its own, with the id part/test_name; the boot itself is
vm/boot_NAME.

KERNEL is a bzImage or the O= directory it is in, where modprobe in the guest finds the modules; the
words are those of configs/tests.toml. The jobs run in the order given:
  --kunit                  the KUnit tests built in, which ran while booting
  --kselftest=TARGET:PART  a target installed in the plain kernel's kselftest
  --cmd=COMMAND:PART       any command of the host's root file system that prints KTAP (version
                           line, plan, results)
The root file system is the host's: read-only, or with an overlay that is lost.
Allowed splats and taints are in allow.every of configs/tests.toml, those of some boots only in
allow.NAME of a group, ids that differ from what KUnit and kselftest call a test in its ids.

Files written: RESULTS/vm-NAME/{console.log,jobs.log,guest.sh,command.txt} and
RESULTS/parts/vm-NAME.json, a result file.
Exit status: 0 nothing failed, 1 something did, 2 usage, 130 interrupted.
kunit_parser is of the kernel tree; KVM=1 uses KVM instead of TCG.
"""
from __future__ import annotations

import argparse
import os
import re
import secrets
import shlex
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools import environment, results_file
from tools.group_file import GroupError
from tools.results_file import Result
from tools.vm import guest, lists
from tools.vm.ktap import load_parser, parse, unique

CPU_OUT_OF_SPEC = "2"  # taint bit
OCCASIONS = ("test", "make", "full")


@dataclass(frozen=True)
class Job:
    """One job. kind: kunit, kselftest or cmd; what: target or command; part: of its tests' ids."""

    kind: str
    what: str
    part: str

    def __str__(self) -> str:
        return f"{self.kind}={self.what}" if self.what else self.kind


def job(kind: str, text: str) -> Job:
    """Return the job of an option's value WHAT:PART."""
    match = re.fullmatch(r"(.*\S.*):([\w.-]+)", text, re.DOTALL)
    if not match:
        raise argparse.ArgumentTypeError("WHAT:PART expected")
    return Job(kind, *match.groups())


def arguments(words: Sequence[str] | None = None, program: str = "boot.py") -> argparse.Namespace:
    """Return the values of the words, by default of the command line; exits with 2 on a wrong one.
    """
    parser = argparse.ArgumentParser(
        prog=program, usage=argparse.SUPPRESS, description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("name")
    add("kernel", type=Path)
    add("--kunit", dest="jobs", action="append_const", const=Job("kunit", "", "kunit"))
    for kind in ("kselftest", "cmd"):
        add(f"--{kind}", dest="jobs", action="append", type=partial(job, kind))
    for several in ("append", "env", "allow"):
        add(f"--{several}", action="append", default=[])
    add("--cpus", type=int, default=2)
    add("--cpu")
    add("--memory", default="1G")
    add("--time-limit", type=float, default=600)
    add("--timeout", type=int)
    add("--when", choices=OCCASIONS, default="test")
    args = parser.parse_args(words)
    if not args.jobs:
        parser.error("no job")
    if not re.fullmatch(r"[\w-]+", args.name):
        parser.error(f"not a name: {args.name}")
    args.programs = any(job.kind == "kselftest" for job in args.jobs)
    return args


def command(job: Job, timeout: int | None) -> str:
    """Return the guest's command of a job; timeout: of each program of a kselftest."""
    if job.kind == "cmd":
        return job.what
    limit = ["-o", str(timeout)] if timeout else []
    return shlex.join([f"{guest.programs()}/run_kselftest.sh", "-c", job.what, *limit])


def boot_error(end: str, limit: float, log: list[str], nonce: str, running: Job | None,
               allow: lists.Allow) -> str:
    """Return why the boot itself failed, "" if it did not.

    A splat ends the guest (panic_on_warn=1): a missing mark is the reason only without a splat.
    """
    if splats := lists.find_splats(log, allow):
        more = f" (and {len(splats) - 1} more)" if len(splats) > 1 else ""
        return f"splat: {splats[0]}{more}"
    if end == "interrupted":
        return "interrupted, QEMU killed"
    where = f"while {running} was running" if running else "outside the jobs"
    if end == "limit":
        return f"time limit of {limit:g} s reached {where}, QEMU killed"
    if not any("Linux version " in line for line in log):
        last = next((line for line in reversed(log) if line.strip()), "")
        return f"the kernel did not start: {last.strip()}"
    taint = guest.end_taint(log, nonce)
    if taint is None:
        qemu = next((f": {line}" for line in log if line.startswith("qemu-system")), "")
        return f"no end mark: the guest ended {where}{qemu}"
    bad = lists.bad_taint(taint, allow)
    return f"unexpected taint: {', '.join(bad)}" if bad else ""


def judge_job(job: Job, output: guest.Output | None, parser: object, log: list[str]
              ) -> tuple[list[Result], list[str]]:
    """Return the results of a job and what is wrong with it as a whole.

    output: None for KUnit, whose output is in log.
    """
    report = parse(parser, output.lines if output else log, job.part, boot_log=output is None)
    errors = [f"{job}: {error}" for error in report.errors]
    failed = any(result.status == "fail" for result in report.results)
    if not report.results and not errors:
        errors.append(f"{job}: no test ran")
    if report.results and all(result.status == "skip" for result in report.results):
        errors.append(f"{job}: all of it was skipped: {report.results[0].reason}")
    if output and output.rc and not failed and not errors:
        errors.append(f"{job}: exit status {output.rc} though no test failed")
    return report.results, errors


def summary(results: list[Result], directory: Path) -> str:
    """Return what is printed: failures with reasons, one line on the boot (the first result)."""
    count = Counter(result.status for result in results)
    return "\n".join([
        *(f"FAIL {result.id}: {result.reason}" for result in results if result.status == "fail"),
        f"{results[0].id}: {count['pass']} passed, {count['fail']} failed, {count['skip']} skipped "
        f"in {results[0].seconds:.1f} s ({directory}/console.log)"])


def main() -> int:
    """Boot once; return the exit status."""
    args = arguments()
    nonce = secrets.token_hex(8)
    results_of_all = environment.results()
    directory = results_of_all / f"vm-{args.name}"
    script, jobs_log, console = (directory / name
                                 for name in ("guest.sh", "jobs.log", "console.log"))
    part = results_of_all / f"parts/vm-{args.name}.json"
    todo = {number: command(job, args.timeout) for number, job in enumerate(args.jobs)
            if job.kind != "kunit"}
    args.kernel = args.kernel.resolve()
    if args.kernel.is_dir():
        args.env.append(f"MODPROBE_OPTIONS=-d {args.kernel}/modules")
        args.kernel /= "arch/x86/boot/bzImage"
    try:
        allow = lists.read_allow(*args.allow)
        ids = lists.read_ids()
        parser = load_parser(environment.tree())
        if not args.kernel.is_file():
            raise FileNotFoundError(f"{args.kernel}: no such file")
        directory.mkdir(parents=True, exist_ok=True)
        for old in (part, console):
            old.unlink(missing_ok=True)
        script.write_text(guest.guest_script(todo.values(), nonce, args.env))
        jobs_log.write_text("")
        words = guest.command_line(args, script, jobs_log, os.environ.get("KVM") == "1")
        (directory / "command.txt").write_text(shlex.join(words) + "\n")
        start = time.monotonic()
        end = guest.run(words, console, args.time_limit)
        seconds = time.monotonic() - start
    except (GroupError, OSError) as error:
        print(f"boot.py: {error}", file=sys.stderr)
        return 2
    if re.search(r"\b(set|clear)cpuid=", " ".join(args.append)):
        allow.taint[CPU_OUT_OF_SPEC] = "setcpuid= and clearcpuid= set it"
    text = console.read_text(errors="replace").replace("\r", "")
    log = lists.whole_lines(text.split("\n"))
    outputs = guest.split_output(jobs_log.read_text(errors="replace"), nonce)
    by_job = {number: outputs.get(order, guest.Output([])) for order, number in enumerate(todo)}
    running = next((args.jobs[number] for number, output in by_job.items() if output.rc is None),
                   None)
    results: list[Result] = []
    errors: list[str] = []
    for number, job in enumerate(args.jobs):
        found, wrong = judge_job(job, by_job.get(number), parser, guest.before_jobs(log, nonce))
        results += found
        errors += wrong
    # When the guest died, jobs that are not complete only say so once more.
    error = boot_error(end, args.time_limit, log, nonce, running if outputs else None, allow)
    for result in results:
        result.id = lists.rename(ids, result.id)
    reason = error or "; ".join(errors)
    boot = Result(f"vm/boot_{args.name}", "fail" if reason else "pass", reason, round(seconds, 1))
    results = unique([boot, *results])
    results_file.write(part, results)
    print(summary(results, directory))
    if end == "interrupted":
        return 130
    return int(any(result.status == "fail" for result in results))


if __name__ == "__main__":
    sys.exit(main())
