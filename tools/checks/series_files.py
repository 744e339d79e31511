# SPDX-License-Identifier: GPL-2.0
"""series and patches/ name different files, or groups are in disorder."""

from tools.checks.findings import no_finding, some
from tools.series import BANNER, GATE, NEEDS, Series, file_name
from tools.tree.small_series import Builder


def twice(names: list[str]) -> list[str]:
    """Return the names that are more than once in a list, sorted."""
    return sorted({name for name in names if names.count(name) > 1})


def check_groups(series: Series) -> list[str]:
    """Each patch is in a group, each group is once and after its needs, one line is the gate."""
    names = [group.name for group in series.groups]
    findings = [f"series: group {name} more than once" for name in twice(names)]
    findings += [f"series: {name}: in no group"
                 for group in series.groups if not group.name for name in group.names]
    for group in series.groups:
        try:
            series.needs(group)
        except ValueError as error:
            findings.append(str(error))
    lines = (series.root / "series").read_text().splitlines()
    if lines.count(GATE) != 1:
        findings.append(f"series: {lines.count(GATE)} lines '{GATE}'")
    known = [line for line in lines if line == GATE or BANNER.match(line) or NEEDS.match(line)]
    wrong = [line for line in lines if line.startswith(("# ---", "# needs:")) and line not in known]
    return findings + [f"series: malformed: {line}" for line in wrong]


def check(series: Series) -> list[str]:
    """The series and patches/ name the same files, once; groups are in order."""
    findings = [] if series.names else ["series names no patch"]
    present = {str(path.relative_to(series.directory)) for path in series.directory.rglob("*")
               if not path.is_dir() and path.suffix != ".cover"} - {"series"}
    findings += [f"{name}: more than once in series" for name in twice(series.names)]
    findings += [f"{name}: in series, no such file" for name in series.names if name not in present]
    findings += [f"{name}: not in series" for name in sorted(present - set(series.names))]
    expected = {patch.name: file_name(patch.header("Subject")) for patch in series.patches}
    findings += [f"{name}: its subject makes it {right}"
                 for name, right in expected.items() if name.rpartition("/")[2] != right]
    findings += [f"{name}: not in the folder of its group, {group.name}"
                 for group in series.groups for name in group.names
                 if name.rpartition("/")[0] not in ("", group.name)]
    link = series.directory / "series"
    if not link.is_symlink() or link.resolve() != (series.root / "series").resolve():
        findings.append("patches/series is not a symlink to ../series")
    return findings + check_groups(series)


test_series_files = no_finding(check)


def test_selftest_series_files(builder: Builder) -> None:
    (builder.patches / "stray.patch").write_text("")
    builder.patch("lib/a: Start at one").series += ["gone.patch", builder.series[-1],
                                      "# --- group: immediate ---"]
    builder.group("usercopy").group("immediate", "nonsense").group("usercopy").series.append(
        GATE)
    (builder.patches / "series").unlink()
    found = check(builder.write())
    some(found, "stray.patch: not in series", "gone.patch: in series", "more than once",
         "not a symlink")
    some(found, "usercopy more than once", "needs 'nonsense': 0 earlier patches",
         "series: 2 lines '# --- gated", "malformed: # --- group: immediate")
