# SPDX-License-Identifier: GPL-2.0
"""The sets in which the patches are sent: patches/SET.cover is the cover letter of one.

Its head is as of a mail: Subject, To, and Patches, which are groups or the beginnings of names of
patches, without their folder, in the order of the series. Its body is plain text.
"""

import email
import email.utils
from dataclasses import dataclass

from tools.series import Patch, Series


@dataclass(frozen=True)
class Cover:
    """The cover letter of a set: its name, subject, addresses, patches and text."""

    name: str
    subject: str
    to: list[str]
    patches: list[Patch]
    body: str


def patches_of(series: Series, name: str, words: list[str]) -> list[Patch]:
    """Return the patches that a set names; raises ValueError for a word that names none,
    or many."""
    found: list[Patch] = []
    for word in words:
        group = [patch for group in series.groups if group.name == word for patch in group.patches]
        starts = [patch for patch in series.patches if patch.path.name.startswith(word)]
        if not group and len(starts) != 1:
            raise ValueError(f"{name}.cover: '{word}': {len(starts)} patches begin so")
        found += group or starts
    return found


def load_covers(series: Series) -> dict[str, Cover]:
    """Read all cover letters, by the name of the set; raises as patches_of()."""
    covers = {}
    for path in sorted(series.directory.glob("*.cover")):
        mail = email.message_from_string(path.read_text(encoding="utf-8"))
        subject, to, words = (" ".join(str(mail[key] or "").split())
                              for key in ("Subject", "To", "Patches"))
        covers[path.stem] = Cover(
            path.stem, subject,
            [address for _, address in email.utils.getaddresses([to]) if address],
            patches_of(series, path.stem, words.split()), str(mail.get_payload()))
    return covers
