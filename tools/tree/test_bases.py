# SPDX-License-Identifier: GPL-2.0
"""Trees of other versions: which groups make apply brings there, and that the patches of another
form are the series'."""
import re
import subprocess
from pathlib import Path

import pytest

from tools import environment, groups
from tools.environment import ROOT
from tools.verdicts import content
from tools.tree.small_series import MAKEFILE, write_files
from tools.tree.small_tree import sums
from tools.command import must
from tools.tree.test_status import run
from tools.series import Series, load_series, touched
from tools.tree.versions import bases

# Those that a Debian suite has
PACKAGED = [(name, of.split()) for name, of in re.findall(
    r"(?m)^(\d\S+) *\| \w[^|]*\|([^|]*)", (ROOT / "configs/bases").read_text())]
QUEUES = sorted((ROOT / "configs/bases.d").iterdir())


@pytest.mark.static
def test_bases_forms() -> None:
    """A version has patches of the series, in its order: links where the form is the same, else
    files with the same header; its groups are those of the table."""
    whole = {patch.name: patch for patch in groups.series().patches}
    for directory in QUEUES:
        series = load_series(directory)
        names = [patch.name for patch in series.patches]
        assert names == series.names and names == [name for name in whole if name in names]
        assert [group.name for group in series.groups if group.gated] == bases()[directory.name][0]
        for patch in series.patches:
            assert patch.message == whole[patch.name].message, patch.path
            assert patch.path.is_symlink() == (patch.text == whole[patch.name].text), patch.path


@pytest.mark.robust
@pytest.mark.parametrize(("version", "group", "says"), [
    ("6.1.9", "", "is Linux 6.1.9, the series is for 7.3, 7.2, 6.18, 6.12 (FORCE=1"),
    ("6.12.9", "nontemporal", "Linux 6.12 takes the groups movsb, not nontemporal (FORCE=1"),
    ("7.2.9", "hotlines",
     "Linux 7.2 takes the groups movsb smallcopies usercopy, not hotlines (FORCE=1"),
])
def test_bases_refused(tmp_path: Path, version: str, group: str, says: str) -> None:
    """A version that the table does not have, or a group that does not go there: one line, and
    nothing is done."""
    tree = write_files(tmp_path, {"Makefile": MAKEFILE.format(*version.split(".")),
                                  "arch/Kconfig": "#\n"})
    done = run("apply", tree, Path(), GROUP=group)
    assert (done.returncode == 1 and len(done.stderr.splitlines()) == 1
            and says in done.stderr), done.stderr
    assert sorted(path.name for path in tree.iterdir()) == ["Makefile", "arch"]


def series_of(version: str) -> Series:
    """Return the series for a version: its own, or that of the repository."""
    own = ROOT / "configs/bases.d" / version
    return load_series(own if own.is_dir() else ROOT)


def unpack(version: str, tree: Path, *files: Path) -> None:
    """Unpack the newest source of a version that Debian has, all of it or what a list names."""
    got = subprocess.run([ROOT / "tools/tree/other_version.sh", version, tree, *files], check=False,
                         capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if got.returncode == 3:
        pytest.skip(got.stderr.strip())
    assert got.returncode == 0, got.stderr


@pytest.mark.parametrize(("version", "names"), PACKAGED)
def test_bases_apply(tmp_path: Path, version: str, names: list[str]) -> None:
    """The groups of a version go onto the newest source of it that Debian has, without fuzz, and
    off it again."""
    paths = touched(series_of(version).choose(names))
    (tmp_path / "list").write_text("".join(f"{path}\n"
                                           for path in ["Makefile", "arch/Kconfig", *paths]))
    tree = tmp_path / "linux"
    unpack(version, tree, tmp_path / "list")
    before = sums(tree)
    for command, pushed in (("apply", True), ("unapply", False)):
        done = run(command, tree, Path(), GROUP=" ".join(names) if pushed else "")
        assert done.returncode == 0, done.stdout + done.stderr
        assert (sums(tree) != before) == pushed


@pytest.mark.full
@pytest.mark.parametrize(("version", "names"), PACKAGED)
def test_bases_compile(tmp_path: Path, version: str, names: list[str]) -> None:
    """With the options of the groups the routines and a caller compile without a warning; unapply
    leaves the source as it was."""
    tree, patches = tmp_path / "linux", series_of(version).choose(names)
    unpack(version, tree)
    before = {path: content(tree / path) for path in touched(patches)}
    done = run("apply", tree, Path(), GROUP=" ".join(names))
    assert done.returncode == 0, done.stdout + done.stderr
    make = ["make", "-s", "-C", tree, f"O={tmp_path / 'out'}", f"-j{environment.jobs()}"]
    must([*make, "defconfig"])
    config, wanted = tmp_path / "out/.config", groups.features(patches)
    for option in wanted:
        must([tree / "scripts/config", "--file", config, "-e", option])
    must([*make, "olddefconfig"])
    assert {f"CONFIG_{option}=y" for option in wanted} <= set(config.read_text().splitlines())
    assert must([*make, "arch/x86/lib/", "fs/read_write.o"]) == ""
    assert run("unapply", tree, Path()).returncode == 0
    assert {path: content(tree / path) for path in before} == before
