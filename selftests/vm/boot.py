# SPDX-License-Identifier: GPL-2.0
"""Boots one kernel under QEMU, runs jobs in it and judges the whole boot.

A boot passes if its end mark is seen, every job has a complete plan, no splat
stands in the console log, no taint but the allowed ones is set at the end, and
the time limit held. Each subtest is a test of its own, with the id
part/test_name; the boot itself is vm/boot_NAME.

To add a job, give one more --job; they run in the order given:
  kunit[:PART]             the KUnit tests built in, which ran while booting
  kselftest=TARGET[:PART]  a target installed in --kselftest-dir, by
                           run_kselftest.sh -c TARGET; PART is TARGET if unset
  cmd=COMMAND:PART         any command of the host's root file system that
                           prints KTAP (version line, plan, results)
The root file system is the host's: read-only, or with an overlay that is lost.
Allowed splats and taints are in allow.txt, those of some boots only in
selftests/GROUP/allow-NAME.txt, skipped tests in skip.txt, ids that differ from
what KUnit and kselftest call a test in selftests/GROUP/ids.txt.

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
from pathlib import Path

from selftests import results_file
from selftests.results_file import Result
from selftests.vm.guest import KVM_SECONDS, Guest, GuestError, Outcome, run
from selftests.vm.jobs import (Job, JobError, Output, before_jobs, end_taint, guest_script,
                  kselftest_command, kselftest_programs, parse_job,
                  split_output)
from selftests.vm.ktap import load_parser, parse, unique
from selftests.vm.lists import Allow, ListError, Skip, read_allow, read_ids, read_skip
from selftests.vm.splats import bad_taint, find_splats, whole_lines

CPU_OUT_OF_SPEC = 2  # taint bit
HERE = Path(__file__).resolve().parent
ROOMS = HERE.parent


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """Return the command line's values; exits with 2 when it is wrong."""
    head, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=head, epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", type=Path, required=True,
                        help="bzImage, or the O= directory it is in")
    parser.add_argument("--tree", type=Path, required=True,
                        help="source tree, for its kunit_parser")
    parser.add_argument("--name", required=True, help="name of this boot")
    parser.add_argument("--job", action="append", required=True,
                        help="may be repeated, see below")
    parser.add_argument("--kselftest-dir", type=Path,
                        help="where kselftests were installed")
    parser.add_argument("--kselftest-timeout", type=int, default=0,
                        metavar="SECONDS", help="limit of one program of a "
                        "target (default: the target's own)")
    parser.add_argument("--env", action="append", default=[],
                        metavar="NAME=VALUE",
                        help="environment of the jobs, may be repeated")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--memory", default="1G")
    parser.add_argument("--tcg-thread", choices=("single", "multi"),
                        default="single",
                        help="QEMU's TCG threads (default: single; multi is "
                             "unsafe with QEMU 7.2)")
    parser.add_argument("--append", action="append", default=[],
                        help="kernel parameters, may be repeated")
    parser.add_argument("--allow", action="append", default=[],
                        metavar="NAME",
                        help="allow-NAME.txt holds as well, may be repeated")
    parser.add_argument("--rooms", type=Path, default=ROOMS, metavar="DIR",
                        help="where the groups' lists are (default: selftests)")
    parser.add_argument("--qemu-opt", action="append", default=[],
                        help="options for QEMU, may be repeated; write "
                             "--qemu-opt='-cpu max,-smap'")
    parser.add_argument("--time-limit", type=float, default=300,
                        metavar="SECONDS", help="default: 300")
    parser.add_argument("--results", type=Path, default=Path("build/results"),
                        metavar="DIR", help="default: build/results")
    args = parser.parse_args(argv)
    if args.kernel.is_dir():
        args.kernel = args.kernel / "arch/x86/boot/bzImage"
    if not args.kernel.is_file():
        parser.error(f"--kernel {args.kernel}: no such file")
    if not re.fullmatch(r"[\w-]+", args.name):
        parser.error(f"--name {args.name}: letters, digits, _ and - only")
    return args


def allow_file(rooms: Path, name: str) -> Path:
    """Return the one list of allowed splats of that name; raises ListError."""
    found = sorted(rooms.glob(f"*/allow-{name}.txt"))
    if len(found) != 1:
        raise ListError(f"--allow {name}: {len(found)} files selftests/*/allow-{name}.txt, one expected")
    return found[0]


def commands(jobs: list[Job], directory: Path | None, skip: Skip, seconds: int
             ) -> tuple[dict[int, str], list[Result]]:
    """Return the guest's commands by job number, and results of programs that
    are not started. seconds: limit of a kselftest program, 0 for the target's
    own. Raises JobError.
    """
    todo: dict[int, str] = {}
    skipped: list[Result] = []
    for number, job in enumerate(jobs):
        if job.kind == "cmd":
            todo[number] = job.what
        elif job.kind == "kselftest":
            if directory is None:
                raise JobError(f"{job}: needs --kselftest-dir")
            leave_out = []
            for program in kselftest_programs(directory, job.what):
                reason = skip.reason(f"{job.part}/{program}")
                if reason:
                    leave_out.append(program)
                    skipped.append(
                        Result(f"{job.part}/{program}", "skip", reason))
            todo[number] = kselftest_command(directory, job.what, leave_out,
                                             seconds)
    return todo, skipped


def boot_errors(outcome: Outcome, limit: float, log: list[str], nonce: str,
                running: Job | None, allow: Allow) -> list[str]:
    """Return why the boot itself failed, the first cause only.

    A splat ends the guest (panic_on_warn=1), so a missing mark is told only
    where no splat explains it.
    """
    splats = find_splats(log, allow)
    if splats:
        more = f" (and {len(splats) - 1} more)" if len(splats) > 1 else ""
        return [f"splat: {splats[0]}{more}"]
    if outcome.end == "interrupted":
        return ["interrupted, QEMU killed"]
    where = f"while {running} was running" if running else "outside the jobs"
    if outcome.end == "limit":
        return [f"time limit of {limit:g} s reached {where}, QEMU killed"]
    if not any("Linux version " in line for line in log):
        last = next((line for line in reversed(log) if line.strip()), "")
        return [f"the kernel did not start: {last.strip()}"]
    taint = end_taint(log, nonce)
    if taint is None:
        qemu = next((line for line in log
                     if line.startswith("qemu-system")), "")
        return [f"no end mark: the guest ended {where}"
                + (f": {qemu}" if qemu else "")]
    bad = bad_taint(taint, allow)
    return [f"unexpected taint: {', '.join(bad)}"] if bad else []


def judge_job(job: Job, output: Output | None, parser: object,
              log: list[str]) -> tuple[list[Result], list[str]]:
    """Return the results of a job and what is wrong with it as a whole.

    output: None for KUnit, whose output is in log.
    """
    lines = log if output is None else output.lines
    report = parse(parser, lines, job.part, boot_log=output is None)
    errors = [f"{job}: {error}" for error in report.errors]
    failed = any(result.status == "fail" for result in report.results)
    if not report.results and not errors:
        errors.append(f"{job}: no test ran")
    if output and output.rc and not failed and not errors:
        errors.append(f"{job}: exit status {output.rc} though no test failed")
    return report.results, errors


def summary(results: list[Result], boot: Result, directory: Path) -> str:
    """Return what is printed: failures with reasons, then one line."""
    count = {status: sum(1 for result in results if result.status == status)
             for status in ("pass", "fail", "skip")}
    lines = [f"FAIL {result.id}: {result.reason}" for result in results
             if result.status == "fail"]
    lines.append(f"{boot.id}: {count['pass']} passed, {count['fail']} failed, "
                 f"{count['skip']} skipped in {boot.seconds:.1f} s "
                 f"({directory}/console.log)")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Boot once; return the exit status."""
    args = arguments(argv)
    try:
        allow = read_allow(HERE / "allow.txt", *(
            allow_file(args.rooms, name) for name in args.allow))
        skip = read_skip(HERE / "skip.txt")
        ids = read_ids(*sorted(args.rooms.glob("*/ids.txt")))
        jobs = [parse_job(text) for text in args.job]
        parser = load_parser(args.tree.resolve())
        tests = args.kselftest_dir and args.kselftest_dir.resolve()
        todo, results = commands(jobs, tests, skip,
                                 args.kselftest_timeout)
    except (ListError, JobError, OSError) as error:
        print(f"boot.py: {error}", file=sys.stderr)
        return 2
    if re.search(r"\b(set|clear)cpuid=", " ".join(args.append)):
        allow.taints[CPU_OUT_OF_SPEC] = "setcpuid= and clearcpuid= set it"
    use_kvm = os.environ.get("KVM") == "1"
    nonce = secrets.token_hex(8)
    directory = (args.results / f"vm-{args.name}").resolve()
    directory.mkdir(parents=True, exist_ok=True)
    script, jobs_log = directory / "guest.sh", directory / "jobs.log"
    console = directory / "console.log"
    part = args.results / "parts" / f"vm-{args.name}.json"
    for old in (part, console):
        old.unlink(missing_ok=True)
    script.write_text(guest_script(list(todo.values()), nonce, args.env))
    jobs_log.write_text("")
    guest = Guest(args.kernel.resolve(), args.name, script, jobs_log,
                  args.cpus, args.memory, use_kvm, args.tcg_thread, args.append,
                  args.qemu_opt, [tests] if tests else [])
    try:
        (directory / "command.txt").write_text(
            shlex.join(guest.command()) + "\n")
        outcome = run(guest, console, args.time_limit)
    except (GuestError, OSError) as error:
        print(f"boot.py: {error}", file=sys.stderr)
        return 2

    if outcome.end == "silent":
        print("boot.py: KVM=1, but KVM does not work here: the kernel said nothing "
              f"in {KVM_SECONDS:g} s; unset KVM to use TCG", file=sys.stderr)
        return 2
    log = whole_lines(console.read_text(errors="replace").replace("\r", "").split("\n"))
    outputs = split_output(jobs_log.read_text(errors="replace"), nonce)
    by_job = {number: outputs.get(order, Output([]))
              for order, number in enumerate(todo)}
    running = next((jobs[number] for number, output in by_job.items()
                    if output.rc is None), None) if outputs else None
    errors = boot_errors(outcome, args.time_limit, log, nonce, running, allow)
    job_errors: list[str] = []
    for number, job in enumerate(jobs):
        found, wrong = judge_job(job, by_job.get(number), parser,
                                 before_jobs(log, nonce))
        results += found
        job_errors += wrong
    # When the guest died, jobs that are not complete only say so once more.
    errors = errors or job_errors
    for result in results:
        result.id = ids.rename(result.id)
        reason = skip.reason(result.id)
        if reason:
            result.status, result.reason = "skip", reason
    boot = Result(f"vm/boot_{args.name}", "fail" if errors else "pass",
                  "; ".join(errors), round(outcome.seconds, 1))
    results = unique([boot, *results])
    results_file.write(part, results)
    print(summary(results, boot, args.results / f"vm-{args.name}"))
    if outcome.end == "interrupted":
        return 130
    return int(any(result.status == "fail" for result in results))


if __name__ == "__main__":
    sys.exit(main())
