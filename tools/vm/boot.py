# SPDX-License-Identifier: GPL-2.0
"""Boots one kernel under QEMU, runs jobs in it and judges the whole boot.

A boot passes if its end mark is seen, every job has a complete plan and a test that is not skipped,
the console log has no splat, no taint but the allowed ones is set at the end, and the time limit
held. Each subtest is a test of its own, with the id part/test_name; the boot itself is
vm/boot_NAME.

To add a job, give one more --job; they run in the order given:
  kunit[:PART]             the KUnit tests built in, which ran while booting
  kselftest=TARGET[:PART]  a target installed in --kselftest-dir, by
                           run_kselftest.sh -c TARGET; PART is TARGET if unset
  cmd=COMMAND:PART         any command of the host's root file system that
                           prints KTAP (version line, plan, results)
The root file system is the host's: read-only, or with an overlay that is lost.
Allowed splats and taints are in allow.txt, those of some boots only in
selftests/GROUP/allow-NAME.txt, ids that differ from what KUnit and kselftest call a test in
selftests/GROUP/ids.txt.

Files written: RESULTS/vm-NAME/{console.log,jobs.log,guest.sh,command.txt} and
RESULTS/parts/vm-NAME.json, a result file.
Exit status: 0 nothing failed, 1 something did, 2 usage, 130 interrupted.
KVM=1 in the environment uses KVM instead of TCG.
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
from dataclasses import dataclass
from pathlib import Path

from tools import results_file
from tools.results_file import Result
from tools.vm import guest, lists
from tools.vm.ktap import load_parser, parse, unique

CPU_OUT_OF_SPEC = 2  # taint bit
HERE = Path(__file__).resolve().parent
JOBS = (r"(kunit)()(?::([\w.-]+))?", r"(kselftest)=([\w./-]+)(?::([\w.-]+))?",
        r"(cmd)=(.*\S.*):([\w.-]+)")


class JobError(ValueError):
    """A --job cannot be understood, or done."""


@dataclass
class Job:
    """One job. kind: kunit, kselftest or cmd; what: target or command; part: of its tests' ids."""

    kind: str
    what: str
    part: str

    def __str__(self) -> str:
        return f"{self.kind}={self.what}" if self.what else self.kind


def parse_job(text: str) -> Job:
    """Return the job that the word of a --job says; raises JobError."""
    for pattern in JOBS:
        if match := re.fullmatch(pattern, text, re.DOTALL):
            kind, what, part = match.groups()
            return Job(kind, what, part or what.replace("/", "_") or kind)
    raise JobError(f"--job {text}: neither kunit[:PART], kselftest=TARGET[:PART] nor "
                   "cmd=COMMAND:PART")


def arguments() -> argparse.Namespace:
    """Return the command line's values; exits with 2 when it is wrong."""
    head, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(description=head, epilog=rest,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--kernel", type=Path, required=True, help="bzImage, or the O= directory it is in")
    add("--tree", type=Path, required=True, help="source tree, for its kunit_parser")
    add("--name", required=True, help="name of this boot")
    add("--job", action="append", required=True, help="may be repeated, see below")
    add("--kselftest-dir", type=Path, help="where kselftests were installed")
    add("--kselftest-timeout", type=int, default=0, metavar="SECONDS",
        help="limit of one program of a target (default: the target's own)")
    add("--env", action="append", default=[], metavar="NAME=VALUE",
        help="environment of the jobs, may be repeated")
    add("--cpus", type=int, default=2)
    add("--cpu", default="", metavar="PROPERTIES",
        help="of QEMU's -cpu, as family=25,model=17: what the CPU claims to be")
    add("--memory", default="1G")
    add("--append", action="append", default=[], help="kernel parameters, may be repeated")
    add("--allow", action="append", default=[], metavar="NAME",
        help="allow-NAME.txt holds as well, may be repeated")
    add("--time-limit", type=float, default=300, metavar="SECONDS", help="default: 300")
    add("--results", type=Path, default=Path("build/results"), metavar="DIR",
        help="default: build/results")
    args = parser.parse_args()
    if args.kernel.is_dir():
        args.kernel = args.kernel / "arch/x86/boot/bzImage"
    if not args.kernel.is_file():
        parser.error(f"--kernel {args.kernel}: no such file")
    if not re.fullmatch(r"[\w-]+", args.name):
        parser.error(f"--name {args.name}: letters, digits, _ and - only")
    args.kernel = args.kernel.resolve()
    args.kselftest_dir = args.kselftest_dir and args.kselftest_dir.resolve()
    return args


def allow_file(name: str) -> Path:
    """Return the one list of allowed splats of that name; raises ListError."""
    found = sorted(HERE.parents[1].glob(f"selftests/*/allow-{name}.txt"))
    if len(found) != 1:
        raise lists.ListError(f"--allow {name}: {len(found)} files selftests/*/allow-{name}.txt, "
                              "one expected")
    return found[0]


def commands(jobs: list[Job], args: argparse.Namespace) -> dict[int, str]:
    """Return the guest's commands by job number; raises JobError."""
    todo: dict[int, str] = {}
    for number, job in enumerate(jobs):
        if job.kind == "cmd":
            todo[number] = job.what
        elif job.kind == "kselftest":
            if args.kselftest_dir is None:
                raise JobError(f"{job}: needs --kselftest-dir")
            words = ["./run_kselftest.sh", "-c", job.what]
            if args.kselftest_timeout:
                words += ["-o", str(args.kselftest_timeout)]
            todo[number] = f"cd {shlex.quote(str(args.kselftest_dir))} && {shlex.join(words)}"
    return todo


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
    directory = (args.results / f"vm-{args.name}").resolve()
    script, jobs_log, console = (directory / name
                                 for name in ("guest.sh", "jobs.log", "console.log"))
    part = args.results / "parts" / f"vm-{args.name}.json"
    try:
        allow = lists.read_allow(HERE / "allow.txt", *map(allow_file, args.allow))
        ids = lists.read_ids(*sorted(HERE.parents[1].glob("selftests/*/ids.txt")))
        jobs = [parse_job(text) for text in args.job]
        parser = load_parser(args.tree.resolve())
        todo = commands(jobs, args)
        directory.mkdir(parents=True, exist_ok=True)
        for old in (part, console):
            old.unlink(missing_ok=True)
        script.write_text(guest.guest_script(todo.values(), nonce, args.env))
        jobs_log.write_text("")
        command = guest.command_line(args, script, jobs_log, os.environ.get("KVM") == "1")
        (directory / "command.txt").write_text(shlex.join(command) + "\n")
        start = time.monotonic()
        end = guest.run(command, console, args.time_limit)
        seconds = time.monotonic() - start
    except (lists.ListError, JobError, OSError) as error:
        print(f"boot.py: {error}", file=sys.stderr)
        return 2
    if re.search(r"\b(set|clear)cpuid=", " ".join(args.append)):
        allow.taints.add(CPU_OUT_OF_SPEC)
    text = console.read_text(errors="replace").replace("\r", "")
    log = lists.whole_lines(text.split("\n"))
    outputs = guest.split_output(jobs_log.read_text(errors="replace"), nonce)
    by_job = {number: outputs.get(order, guest.Output([])) for order, number in enumerate(todo)}
    running = next((jobs[number] for number, output in by_job.items() if output.rc is None), None)
    results: list[Result] = []
    errors: list[str] = []
    for number, job in enumerate(jobs):
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
    print(summary(results, args.results / directory.name))
    if end == "interrupted":
        return 130
    return int(any(result.status == "fail" for result in results))


if __name__ == "__main__":
    sys.exit(main())
