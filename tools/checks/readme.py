# SPDX-License-Identifier: GPL-2.0
"""README tells a user to make what is no target."""

import re
from pathlib import Path

from tools.checks.findings import no_finding
from tools.command import last_lines, run


def readme_targets(text: str) -> list[str]:
    """Return the make targets that a README's code names."""
    code = re.findall(r"^(?: {4,}|\t)(.*)$", text, re.M) + re.findall(r"`([^`\n]+)`", text)
    for block in re.findall(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S):
        code += block.splitlines()
    calls = [re.match(r"\s*(?:\$ )?make((?:\s+[^\s#;&|]+)*)", line) for line in code]
    words = [word for call in calls if call for word in call[1].partition("-C")[0].split()]
    return sorted({word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)})


def check(root: Path) -> list[str]:
    """What the README tells a user to make is a target, and help is one."""
    if not (root / "Makefile").is_file() or not (root / "README.md").is_file():
        return ["no Makefile or no README.md"]
    done = run(["make", "-n", "help"], root)
    findings = [f"make help: {last_lines(done.stdout)}"] if done.returncode else []
    known = re.findall(r"^([a-z][\w-]*):(?!=)", run(["make", "-npq"], root).stdout, re.M)
    return findings + [f"README.md: make {target}: no such target"
                       for target in readme_targets((root / "README.md").read_text())
                       if target not in known]


test_readme = no_finding(check)


def test_selftest_readme(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("help: ; @echo\n")
    (tmp_path / "README.md").write_text(
        "```\n$ make help && make -C tools x\nmake gone CONFIG=1\n```\n")
    assert check(tmp_path) == ["README.md: make gone: no such target"]
