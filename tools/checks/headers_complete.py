# SPDX-License-Identifier: GPL-2.0
"""A patch lacks From:, Date:, Subject:, a changelog, Patch-mainline:, Test: or a diffstat."""

import re
from email.utils import parsedate_to_datetime

from tools.checks.findings import no_finding, some
from tools.series import Patch, Series
from tools.tree.small_series import Builder

SUBJECT = re.compile(r"^\[PATCH\] (?P<where>[A-Za-z0-9_./,-]+(?: [a-z0-9_-]+)?): (?P<what>\S.*)$")
PERSON = re.compile(r"^[^<>@]+ <[^<>@\s]+@[^<>@\s]+>$")
# Words that end like another form of the verb but are not one
IMPERATIVES = {"bring", "embed", "feed", "need", "shed", "speed", "string", "seed"}


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


def check(series: Series) -> list[str]:
    """From:, Date:, Subject:, a body, ---, Patch-mainline:, Test: and a diffstat."""
    return [f"{patch.name}: {line}" for patch in series.patches for line in header_findings(patch)]


test_headers_complete = no_finding(check)


def test_selftest_headers_complete(builder: Builder) -> None:
    subject = "lib/a: Start at one"
    series = builder.patch(subject).alter(subject, "Start at one\n\n", "starts at one.\n\n")
    some(check(series), "capital", "imperative", "full stop")
    series = builder.alter(subject, "Patch-mainline:", "Status:")
    some(check(series), "Patch-mainline")
    series = builder.alter(subject, "Test:", "Tried:")
    some(check(series), "no Test: line")
