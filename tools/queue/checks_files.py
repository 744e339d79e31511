# SPDX-License-Identifier: GPL-2.0
"""Checks that read the series file and the patch files, and nothing else."""

from __future__ import annotations

import re
import tempfile
from email.utils import parsedate_to_datetime
from pathlib import Path

from tools.queue.proc import last_lines, run
from tools.series import BANNER, GATE, NEEDS, Patch, Queue

SUBJECT = re.compile(r"^\[PATCH\] (?P<where>[A-Za-z0-9_./,-]+(?: [a-z0-9_-]+)?): (?P<what>\S.*)$")
PERSON = re.compile(r"^[^<>@]+ <[^<>@\s]+@[^<>@\s]+>$")
# Words that end like another form of the verb but are not one
IMPERATIVES = {"bring", "embed", "feed", "need", "shed", "speed", "string", "seed"}


def file_name(subject: str) -> str:
    """Return the file name that belongs to a subject; names keep their _."""
    title = re.sub(r"^\[PATCH[^\]]*\]\s*", "", subject).lower()
    return re.sub(r"[^a-z0-9_]+", "-", title).strip("-") + ".patch"


def check_series_files(queue: Queue) -> list[str]:
    """The series and patches/ name the same files, once; groups are in order."""
    findings = [] if queue.names else ["series names no patch"]
    present = {str(path.relative_to(queue.directory)) for path in queue.directory.rglob("*")
               if not path.is_dir() and path.suffix != ".cover"} - {"series"}
    findings += [f"{name}: more than once in series" for name in twice(queue.names)]
    findings += [f"{name}: in series, no such file" for name in queue.names if name not in present]
    findings += [f"{name}: not in series" for name in sorted(present - set(queue.names))]
    expected = {patch.name: file_name(patch.header("Subject")) for patch in queue.patches}
    findings += [f"{name}: its subject makes it {right}"
                 for name, right in expected.items() if name.rpartition("/")[2] != right]
    findings += [f"{name}: not in the folder of its group, {group.name}"
                 for group in queue.groups for name in group.names
                 if name.rpartition("/")[0] not in ("", group.name)]
    link = queue.directory / "series"
    if not link.is_symlink() or link.resolve() != (queue.root / "series").resolve():
        findings.append("patches/series is not a symlink to ../series")
    return findings + check_groups(queue)


def twice(names: list[str]) -> list[str]:
    """Return the names that are more than once in a list, sorted."""
    return sorted({name for name in names if names.count(name) > 1})


def check_groups(queue: Queue) -> list[str]:
    """Each patch is in a group, each group is once and after its needs, one line is the gate."""
    names = [group.name for group in queue.groups]
    findings = [f"series: group {name} more than once" for name in twice(names)]
    findings += [f"series: {name}: in no group"
                 for group in queue.groups if not group.name for name in group.names]
    for group in queue.groups:
        try:
            queue.needs(group)
        except ValueError as error:
            findings.append(str(error))
    lines = (queue.root / "series").read_text().splitlines()
    if lines.count(GATE) != 1:
        findings.append(f"series: {lines.count(GATE)} lines '{GATE}'")
    known = [line for line in lines if line == GATE or BANNER.match(line) or NEEDS.match(line)]
    wrong = [line for line in lines if line.startswith(("# ---", "# needs:")) and line not in known]
    return findings + [f"series: malformed: {line}" for line in wrong]


def check_headers_complete(queue: Queue) -> list[str]:
    """From:, Date:, Subject:, a body, ---, Patch-mainline:, Test: and a diffstat."""
    return [f"{patch.name}: {line}" for patch in queue.patches for line in header_findings(patch)]


def header_findings(patch: Patch) -> list[str]:
    """Return what is wrong with one patch's header."""
    keys = [line.split(":", 1)[0] for line in patch.message.splitlines()[:3]]
    changelog = re.sub(r"^[A-Z][A-Za-z-]+: .*$", "", patch.body, flags=re.M).strip()
    findings = subject_findings(patch.header("Subject"))
    try:
        parsedate_to_datetime(patch.header("Date"))
    except (TypeError, ValueError):
        findings.append("Date: is not a mail date")
    for right, finding in (
        (keys == ["From", "Date", "Subject"], "the first lines are not From:, Date:, Subject:"),
        (PERSON.match(patch.header("From")), "From: is not 'Name <address>'"),
        (changelog, "no changelog"),
        (not re.search(r"\bthis patch\b", patch.body, re.I), "the changelog says 'this patch'"),
        (re.search(r"^Patch-mainline: \S", patch.notes, re.M), "no Patch-mainline: line below ---"),
        (patch.test, "no Test: line below ---"),
        (re.search(r"^ \d+ files? changed", patch.notes, re.M), "no diffstat below ---"),
    ):
        if not right:
            findings.append(finding)
    return findings


def subject_findings(subject: str) -> list[str]:
    """Return what is wrong with a subject line."""
    match = SUBJECT.match(subject)
    if not match:
        return ["Subject: is not '[PATCH] subsys/component: Imperative'"]
    findings: list[str] = []
    word = match["what"].split()[0]
    if not word[0].isupper():
        findings.append("Subject: no capital after the colon")
    low = word.lower()
    wrong = low.endswith(("ed", "ing")) or (low.endswith("s") and not low.endswith(("ss", "us")))
    if wrong and low not in IMPERATIVES:
        findings.append(f"Subject: '{word}' is not an imperative")
    if subject.endswith("."):
        findings.append("Subject: ends with a full stop")
    return findings


def check_no_signed_off(queue: Queue) -> list[str]:
    """No patch certifies anything: who sends it does."""
    return [f"{patch.name}: has Signed-off-by:" for patch in queue.patches
            if re.search(r"^\s*Signed-off-by:", patch.text, re.M | re.I)]


def check_spelling(queue: Queue) -> list[str]:
    """codespell knows no better for the messages and the added lines."""
    with tempfile.TemporaryDirectory() as directory:
        for patch in queue.patches:
            added = [line for diff in patch.files for line in diff.added]
            (text := Path(directory) / patch.name).parent.mkdir(exist_ok=True)
            text.write_text("\n".join([patch.message, *added]) + "\n")
        done = run(["codespell", "-d", "."], Path(directory))
    lines = [line.removeprefix("./") for line in done.stdout.splitlines() if "==>" in line]
    if done.returncode and not lines:
        return [f"codespell: {last_lines(done.stdout)}"]
    return [re.sub(r":\d+: ", ": ", line) for line in lines]
