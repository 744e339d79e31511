# SPDX-License-Identifier: GPL-2.0
"""Boots one kernel under QEMU, runs jobs in it and judges the whole boot.

A boot passes if its end mark is seen, every job has a complete plan and a test that is not skipped,
the console log has no splat, no taint but the allowed ones is set at the end, and the time limit
held. Each subtest is a test of its own, with the id part/test_name; the boot itself is
vm/boot_NAME.

The jobs run in the order given. The root file system is the host's: read-only, or with an overlay
that goes with the guest. Allowed splats and taints are in allow.every of configs/tests.toml, those
of some boots only in allow.NAME of a group, ids that differ from what KUnit and kselftest call a
test in its ids.

Files written: RESULTS/vm-NAME/{console.log,jobs.log,guest.sh,command.txt}.
"""
import re
import secrets
import shlex
import time
from collections import Counter
from pathlib import Path
from threading import Event

from tools import environment
from tools.group_toml import Allow
from tools.results import Result
from tools.vm import guest, lists
from tools.vm.ktap import load_parser, parse, unique
from tools.vm.tables import Boot, Job

CPU_OUT_OF_SPEC = "2"  # taint bit
IMAGE = "arch/x86/boot/bzImage"


def boot_error(end: str, limit: float, log: list[str], nonce: str, running: Job | None,
               allow: Allow) -> str:
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


def failures(results: list[Result]) -> list[str]:
    """Return a line for each result that failed."""
    return [f"FAIL {result.id}: {result.reason}" for result in results if result.status == "fail"]


def summary(results: list[Result], logs: Path) -> str:
    """Return what is printed: failures with reasons, one line on the boot (the first result)."""
    count = Counter(result.status for result in results)
    return "\n".join([
        *failures(results),
        f"{results[0].id}: {count['pass']} passed, {count['fail']} failed, {count['skip']} skipped "
        f"in {results[0].seconds:.1f} s ({logs}/console.log)"])


def judge(boot: Boot, end: str, seconds: float, logs: Path, nonce: str) -> list[Result]:
    """Return the results of a boot that has ended, first its own; raises GroupError, OSError."""
    allow, ids = lists.read_allow(*boot.row.allow), lists.read_ids()
    parser = load_parser(environment.tree())
    if re.search(r"\b(set|clear)cpuid=", boot.row.append):
        allow.taint[CPU_OUT_OF_SPEC] = "setcpuid= and clearcpuid= set it"
    text = (logs / "console.log").read_text(errors="replace").replace("\r", "")
    log = lists.whole_lines(text.split("\n"))
    outputs = guest.split_output((logs / "jobs.log").read_text(errors="replace"), nonce)
    by_job = {job: outputs.get(number, guest.Output([]))
              for number, job in enumerate(boot.commands())}
    running = next((job for job, output in by_job.items() if output.rc is None), None)
    results: list[Result] = []
    errors: list[str] = []
    for job in boot.jobs:
        found, wrong = judge_job(job, by_job.get(job), parser, guest.before_jobs(log, nonce))
        results += found
        errors += wrong
    # When the guest died, jobs that are not complete only say so once more.
    error = boot_error(end, boot.row.time_limit, log, nonce, running if outputs else None, allow)
    for result in results:
        result.id = lists.rename(ids, result.id)
    reason = error or "; ".join(errors)
    own = Result(f"vm/boot_{boot.name}", "fail" if reason else "pass", reason, round(seconds, 1))
    return unique([own, *results])


def run(boot: Boot, kernel: Path, results: Path, stopped: Event, kvm: bool = False) -> list[Result]:
    """Boot once and return the results, first that of the boot itself.

    kernel: a bzImage or the O= directory it is in, where modprobe in the guest finds the modules;
    results: below it are the logs; stopped: ends the guest when it is set; kvm: instead of TCG.
    Raises GroupError for a list that is wrong, OSError. May be called by several threads.
    """
    nonce = secrets.token_hex(8)
    logs = results / f"vm-{boot.name}"
    script, jobs_log, console = (logs / name for name in ("guest.sh", "jobs.log", "console.log"))
    variables, image = list(boot.row.env), kernel.resolve()
    if image.is_dir():
        variables.append(f"MODPROBE_OPTIONS=-d {image}/modules")
        image /= IMAGE
    if not image.is_file():
        raise FileNotFoundError(f"{image}: no such file")
    logs.mkdir(parents=True, exist_ok=True)
    console.unlink(missing_ok=True)
    script.write_text(guest.guest_script(boot.commands().values(), nonce, variables))
    jobs_log.write_text("")
    words = guest.command_line(boot, image, script, jobs_log, kvm)
    (logs / "command.txt").write_text(shlex.join(words) + "\n")
    start = time.monotonic()
    end = guest.run(words, console, boot.row.time_limit, stopped)
    return judge(boot, end, time.monotonic() - start, logs, nonce)
