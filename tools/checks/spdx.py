# SPDX-License-Identifier: GPL-2.0
"""A script, source or page has no licence."""

from pathlib import Path

from tools.checks.findings import no_finding
from tools.checks.repository import is_text

SPDX_SUFFIXES = {".py", ".sh", ".c", ".h", ".S", ".rst", ".mk"}


def can_carry_spdx(path: Path) -> bool:
    """Whether a file must name its licence: scripts, sources, anything with #!."""
    known = path.suffix in SPDX_SUFFIXES or path.name in ("Makefile", "pytest.ini")
    return "fixtures" not in path.parts and (known or path.read_bytes()[:2] == b"#!")


def check(root: Path, repository: list[Path]) -> list[str]:
    """Each file that can carry it has an SPDX line among its first five."""
    marked = [path for path in repository if is_text(path) and can_carry_spdx(path)]
    return [f"{path.relative_to(root)}: no SPDX line" for path in marked
            if "SPDX-License-Identifier:" not in "\n".join(path.read_text().split("\n")[:5])]


test_spdx = no_finding(check)
