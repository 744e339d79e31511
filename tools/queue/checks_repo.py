# SPDX-License-Identifier: GPL-2.0
"""Checks of the repository itself: its scripts, its texts, what they say."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from tools.queue.proc import last_lines, must, run

SPDX_SUFFIXES = {".py", ".sh", ".c", ".h", ".S", ".rst", ".mk"}
BINARY_SUFFIXES = {".png", ".gz", ".xz", ".pdf"}
MACHINE = re.compile(
    r"(?:^|[\s\"'=(:])(/(?:root|work)/[\w.]|/home/(?!user\b)\w+/|/tmp/\w+/)"
    r"|\b(?:deb|ftp|security)\.debian\.org\b|\b(?:pypi|files\.pythonhosted)\.org\b"
)
# What a page links to: [text](target) in Markdown, <target>`_ in reStructuredText
LINK = {".md": re.compile(r"\]\(([^)\s]+)\)"), ".rst": re.compile(r"<([^<>\s]+)>`_")}
# Words that readers stumbled over: what to say instead, and how often the pages and changelogs may
# have them. The counts only go down.
PHRASES = {
    "in place": ("inline, instead of", 0), "win|wins|won|lose|loses|lost": ("faster, slower", 1),
    "kept": ("stored, published", 0), "that of|those of": ("the noun again", 2),
    "drawn": ("random", 0), "at once": ("immediately", 0), "by hand": ("a manual run", 0),
    "come and go|came and went": ("task churn", 0), "residue": ("bytes not copied", 0),
    "misses a switch": ("misses per switch", 0),
    "(?:is|are|was|were) of": ("belongs to, was made with", 2)}


def repo_files(root: Path) -> list[Path]:
    """Return the files of the repository that git would keep, sorted."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = must(words, root).split("\0")
    return sorted(root / name for name in names if name and (root / name).is_file())


def is_text(path: Path) -> bool:
    """Whether a file is text; links are not."""
    binary = path.suffix in BINARY_SUFFIXES or path.is_symlink()
    return not binary and b"\0" not in path.read_bytes()


def can_carry_spdx(path: Path) -> bool:
    """Whether a file must name its licence: scripts, sources, anything with #!."""
    known = path.suffix in SPDX_SUFFIXES or path.name in ("Makefile", "pytest.ini")
    return "fixtures" not in path.parts and (known or path.read_bytes()[:2] == b"#!")


def check_spdx(root: Path, files: list[Path]) -> list[str]:
    """Each file that can carry it has an SPDX line among its first five."""
    marked = [path for path in files if is_text(path) and can_carry_spdx(path)]
    return [f"{path.relative_to(root)}: no SPDX line" for path in marked
            if "SPDX-License-Identifier:" not in "\n".join(path.read_text().split("\n")[:5])]


def check_whitespace(root: Path, files: list[Path]) -> list[str]:
    """No trailing blanks, and a newline at the end; patches have their own rules."""
    words = "git grep --untracked -nIE [[:blank:]]+$ -- . :!*.patch".split()
    findings = [f"{line}: trailing whitespace" for line in run(words, root).stdout.splitlines()]
    return findings + [f"{path.relative_to(root)}: no newline at the end" for path in files
                       if is_text(path) and path.read_bytes()[-1:] not in (b"", b"\n")]


def check_no_machine(root: Path, files: list[Path]) -> list[str]:
    """No file names a machine's own path, its host name or a package host."""
    host = os.uname().nodename
    name = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w.-])" if len(host) > 8 else r"(?!)")
    findings: list[str] = []
    for path in files:
        if not is_text(path) or path.name == "COPYING" or path == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if match := MACHINE.search(line) or name.search(line):
                findings.append(f"{path.relative_to(root)}:{number}: '{match[0].strip()}'")
    return findings


def check_links(root: Path, files: list[Path]) -> list[str]:
    """Each link of a page to a file of the repository has one, and one to a place in a README a
    headline."""
    findings: list[str] = []
    for path in files:
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


def check_shellcheck(root: Path) -> list[str]:
    """shellcheck has nothing to say about the shell scripts in tools/ and .ci/run."""
    scripts = [*sorted((root / "tools").rglob("*.sh")), root / ".ci/run"]
    done = run(["shellcheck", "-x", "-f", "gcc", *scripts], root)
    lines = [line.replace(f"{root}/", "") for line in done.stdout.splitlines() if line.strip()]
    return lines or ([f"shellcheck: status {done.returncode}"] if done.returncode else [])


def check_pyflakes(root: Path) -> list[str]:
    """pyflakes finds no name that is undefined, imported or assigned for nothing."""
    done = run([sys.executable, "-m", "pyflakes", root / "tools", root / "selftests"], root)
    lines = [line.replace(f"{root}/", "") for line in done.stdout.splitlines()]
    return lines or ([f"pyflakes: {done.stderr}"] if done.returncode else [])


def readme_targets(text: str) -> list[str]:
    """Return the make targets that a README's code names."""
    code = re.findall(r"^(?: {4,}|\t)(.*)$", text, re.M) + re.findall(r"`([^`\n]+)`", text)
    for block in re.findall(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S):
        code += block.splitlines()
    calls = [re.match(r"\s*(?:\$ )?make((?:\s+[^\s#;&|]+)*)", line) for line in code]
    words = [word for call in calls if call for word in call[1].partition("-C")[0].split()]
    return sorted({word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)})


def check_readme(root: Path) -> list[str]:
    """What the README tells a user to make is a target, and help is one."""
    if not (root / "Makefile").is_file() or not (root / "README.md").is_file():
        return ["no Makefile or no README.md"]
    done = run(["make", "-n", "help"], root)
    findings = [f"make help: {last_lines(done.stdout)}"] if done.returncode else []
    known = re.findall(r"^([a-z][\w-]*):(?!=)", run(["make", "-npq"], root).stdout, re.M)
    return findings + [f"README.md: make {target}: no such target"
                       for target in readme_targets((root / "README.md").read_text())
                       if target not in known]


def check_phrases(root: Path) -> list[str]:
    """No phrase of PHRASES is more often in README, the pages,
    covers and changelogs than it was."""
    texts = [path.read_text()
             for path in (root / "README.md", *(root / "Documentation").glob("*.rst"),
                          *(root / "patches").glob("*.cover"))]
    texts += [path.read_text().partition("\n---\n")[0]
              for path in (root / "patches").glob("*/*.patch")]
    text = " ".join(" ".join(texts).split())
    counts = {phrase: len(re.findall(rf"\b(?:{phrase})\b", text, re.I)) for phrase in PHRASES}
    return [f"'{phrase}': {counts[phrase]} times, at most {most}: say {plain}"
            for phrase, (plain, most) in PHRASES.items() if counts[phrase] > most]
