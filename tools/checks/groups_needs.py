# SPDX-License-Identifier: GPL-2.0
"""A group does not apply with what it needs, or needs a patch for no reason."""

from pathlib import Path

from tools.checks.findings import no_finding, some
from tools.command import Stop
from tools.series import Patch, Series
from tools.tree.small_series import Builder
from tools.tree.sources import Sources
from tools.tree.state import make_repo, trees


def problem(repo: Path, patches: list[Patch]) -> str:
    """Return why patches do not apply to the base, "" if they do."""
    try:
        trees(repo, "base", patches)
    except Stop as error:
        return str(error)
    return ""


def check(series: Series, sources: Sources, tmp_path: Path) -> list[str]:
    """Each group applies with what it needs, and needs each of that or gives the reason."""
    repo = make_repo(series.paths, sources, tmp_path / "groups-needs")
    findings: list[str] = []
    for group in series.groups:
        others, needed = series.needs(group)
        chosen = series.choose(others or [group.name])
        if found := problem(repo, chosen):
            findings.append(f"group {group.name} with what it needs: {found}")
            continue
        for name in [name for name, word in needed.items() if not group.needs[word]]:
            if not problem(repo, [patch for patch in chosen if patch.name != name]):
                findings.append(f"group {group.name} applies without {name}: give the reason")
    return findings


test_groups_needs = no_finding(check)


def test_selftest_groups_needs(builder: Builder, tmp_path: Path) -> None:
    builder.patch("lib/a: Start at one").edit("lib/b: Add it", {"lib/b.c": "x\n"})
    builder.group("immediate", "lib-b").line("lib: Do this", 21)
    builder.group("usercopy", "lib-b").line("lib: Do that", 5)
    found = check(builder.write(), builder.sources, tmp_path)
    some(found, "group immediate with what it needs: ")
    some(found, "group usercopy applies without lib-b-add-it.patch")
