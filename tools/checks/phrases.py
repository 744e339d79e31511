# SPDX-License-Identifier: GPL-2.0
"""A page, cover or changelog uses a phrase that readers stumbled over."""

import re
from pathlib import Path

from tools.checks.findings import no_finding

# Words that readers stumbled over: what to say instead, and how often the pages and changelogs may
# have them. The counts only go down.
PHRASES = {
    "in place": ("inline, instead of", 0), "win|wins|won|lose|loses|lost": ("faster, slower", 1),
    "kept": ("stored, published", 0), "that of|those of": ("the noun again", 2),
    "drawn": ("random", 0), "at once": ("immediately", 0), "by hand": ("a manual run", 0),
    "come and go|came and went": ("task churn", 0), "residue": ("bytes not copied", 0),
    "misses a switch": ("misses per switch", 0),
    "(?:is|are|was|were) of": ("belongs to, was made with", 2)}


def check(root: Path) -> list[str]:
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


test_phrases = no_finding(check)
