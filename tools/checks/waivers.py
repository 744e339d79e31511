# SPDX-License-Identifier: GPL-2.0
"""checkpatch-waivers: what checkpatch.pl --strict may find, for make lint and make mail."""

from dataclasses import dataclass
from pathlib import Path

from tools.series import Patch

WAIVERS = Path(__file__).with_name("checkpatch-waivers")
MOST_WAIVERS = 10


@dataclass(frozen=True)
class Waiver:
    """A checkpatch finding that stands, with the reason."""

    patch: str
    type: str
    reason: str

    def covers(self, patch: Patch, kind: str) -> bool:
        """Whether it waives this type in this patch."""
        return self.type == kind and self.patch in ("*", patch.path.name)


def read_waivers(path: Path) -> tuple[list[Waiver], list[str]]:
    """Read lines `patch-or-* TYPE reason`; returns waivers and findings."""
    waivers: list[Waiver] = []
    findings: list[str] = []
    for line in path.read_text().splitlines() if path.is_file() else []:
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 2)
        if len(words) < 3:
            findings.append(f"{path.name}: no reason: '{line}'")
        else:
            waivers.append(Waiver(*words))
    if len(waivers) > MOST_WAIVERS:
        findings.append(f"{path.name}: {len(waivers)} waivers, at most {MOST_WAIVERS}")
    return waivers, findings
