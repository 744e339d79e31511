# SPDX-License-Identifier: GPL-2.0
"""Trees of other versions: which groups make apply brings there, and that the patches of another form are the series'."""
from __future__ import annotations

from pathlib import Path

import pytest

from tools import groups
from tools.queue.fixtures import MAKEFILE, write_files
from tools.queue.test_status import run
from tools.series import load_queue
from tools.tree import bases

ROOT = Path(__file__).resolve().parents[2]
QUEUES = sorted((ROOT / "configs/bases.d").iterdir())


@pytest.mark.static
def test_bases_forms() -> None:
    """The queue of a version has patches of the series, in its order: links where the form is the same, else files
    with the same header; its groups are those of the table."""
    series = {patch.name: patch for patch in groups.queue().patches}
    for directory in QUEUES:
        queue = load_queue(directory)
        names = [patch.name for patch in queue.patches]
        assert names == queue.names and names == [name for name in series if name in names]
        assert [group.name for group in queue.groups if group.gated] == bases()[directory.name][0]
        for patch in queue.patches:
            assert patch.message == series[patch.name].message, patch.path
            assert patch.path.is_symlink() == (patch.text == series[patch.name].text), patch.path


@pytest.mark.robust
@pytest.mark.parametrize(("version", "group", "says"), [
    ("6.1.9", "", "is Linux 6.1.9, the series is for 7.3, 7.2, 6.18, 6.12 (FORCE=1"),
    ("6.12.9", "nontemporal", "Linux 6.12 takes the groups movsb, not nontemporal (FORCE=1"),
    ("7.2.9", "hotlines", "Linux 7.2 takes the groups movsb smallcopies usercopy, not hotlines (FORCE=1"),
])
def test_bases_refused(tmp_path: Path, version: str, group: str, says: str) -> None:
    """A version that the table does not have, or a group that does not go there: one line, and nothing is done."""
    tree = write_files(tmp_path, {"Makefile": MAKEFILE.format(*version.split(".")), "arch/Kconfig": "#\n"})
    done = run("apply", tree, Path(), GROUP=group)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and says in done.stderr, done.stderr
    assert sorted(path.name for path in tree.iterdir()) == ["Makefile", "arch"]
