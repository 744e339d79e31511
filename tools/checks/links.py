# SPDX-License-Identifier: GPL-2.0
"""A link of a page has no file or headline."""

import re
from pathlib import Path

from tools.checks.findings import no_finding

# Links of a page: [text](target) and [text]: target in Markdown, <target>`_ in reStructuredText
LINK = {".md": re.compile(r"(?:\]\(|^\[[^]]+\]: )([^)\s]+)", re.M),
        ".rst": re.compile(r"<([^<>\s]+)>`_")}


def check(root: Path, repository: list[Path]) -> list[str]:
    """Each link of a page to a file of the repository has one, and one to a place in a README a
    headline."""
    findings: list[str] = []
    for path in repository:
        if path.suffix not in LINK:
            continue
        text = path.read_text(errors="replace")
        heads = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")
                 for head in re.findall(r"^#+ (.*)$", text, re.M)}
        for link in LINK[path.suffix].findall(text):
            target, _, place = link.partition("#")
            there = (path.parent / target).exists() if target else place in heads
            if ":" not in link and not there:
                findings.append(f"{path.relative_to(root)}: no {link}")
    return findings


test_links = no_finding(check)


def test_selftest_links(tmp_path: Path) -> None:
    page, readme = tmp_path / "a.rst", tmp_path / "README.md"
    page.write_text("`b <b.rst>`_\n")
    readme.write_text("# A\n[a](a.rst) [a](#a) [c](d/c.rst) [b](#b)\n[a]: a.rst\n[e]: e.rst\n")
    assert check(tmp_path, [page, readme]) == [
        "a.rst: no b.rst", "README.md: no d/c.rst", "README.md: no #b",
        "README.md: no e.rst"]
