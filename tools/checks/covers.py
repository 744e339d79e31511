# SPDX-License-Identifier: GPL-2.0
"""A patch is in no set or in two, or a cover letter lacks a part."""

from tools.checks.findings import no_finding, some
from tools.send.covers import load_covers
from tools.series import Series
from tools.tree.small_series import Builder

COLUMNS = 72
PARTS = ("Test:", "Depends on:", "Before:", "Open:")


def check(series: Series) -> list[str]:
    """Each patch is in one set, each set has what a cover letter needs, in 72 columns."""
    try:
        covers = load_covers(series)
    except ValueError as error:
        return [str(error)]
    sets = [patch.name for cover in covers.values() for patch in cover.patches]
    found = [f"{name}: in {sets.count(name)} sets" for name in series.names
             if sets.count(name) != 1]
    for cover in covers.values():
        where = f"{cover.name}.cover"
        found += [f"{where}: no {key}" for key, value in (
            ("Subject", cover.subject), ("To", cover.to), ("Patches", cover.patches)) if not value]
        found += [f"{where}: no '{part}'" for part in PARTS if f"\n{part}" not in cover.body]
        text = (series.directory / where).read_text(encoding="utf-8").removeprefix("Subject: ")
        found += [f"{where}:{number}: {len(line)} columns, at most {COLUMNS}"
                  for number, line in enumerate(text.splitlines(), 1) if len(line) > COLUMNS]
        order = [series.names.index(patch.name) for patch in cover.patches]
        if order != sorted(order):
            found.append(f"{where}: not in the order of the series")
    return found


test_covers = no_finding(check)


def test_selftest_covers(builder: Builder) -> None:
    """A set that is not complete, a patch in no set or in two, and long lines are found."""
    series = builder.patch("lib/a: Start at one").edit("lib/b: Add it", {"lib/b.c": "x\n"}).write()
    some(check(series), "lib-a-start-at-one.patch: in 0 sets")
    whole = "Subject: A set\nPatches: lib-b lib-a\n\n" + "\n".join(PARTS[1:]) + "\n" + "x" * 73
    for name in ("one", "two"):
        (builder.patches / f"{name}.cover").write_text(whole)
    some(check(series), "lib-b-add-it.patch: in 2 sets", "one.cover: no To",
         "one.cover: no 'Test:'", "one.cover:7: 73 columns", "one.cover: not in the order")
