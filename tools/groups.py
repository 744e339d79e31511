# SPDX-License-Identifier: GPL-2.0
"""Groups: what the banners of the series name, and what selftests/GROUP/ holds of each.

Nothing else lists groups.

  groups.py list                      each group of the series with why it exists
  groups.py fragments TREE OUT NAME.. writes fragments below OUT, prints their paths
  groups.py lost CONFIG FILE..        prints the settings of the files that a .config does not have
  groups.py kernel NAME               the fragments of a kernel of configs/tests.toml or of a group
  groups.py targets TREE              the kselftest targets that TREE has of its groups

The fragment NAME is configs/NAME.config and, after it, selftests/GROUP/NAME.config of each group
that is pushed on the tree. Two are made: all-on is options.config of the groups that are pushed
whole (of the preparations, another group may bring some), all-off turns off each option that a
gated patch has.
"""

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from tools import environment
from tools.environment import ROOT
from tools.group_toml import GroupError, read_all
from tools.series import Patch, Series, load_series, touched

ENTRY = re.compile(r"^\s*(?:menu)?config (\w+)$")
PARAMETER = re.compile(r'^(?:early_param|__setup)\("(\w+)=?"')
SYSCTL = re.compile(r'^\s*\.procname\s*= "(\w+)"')
PROMPT = re.compile(r"\s+(?:bool|tristate|int|hex|string|prompt)\s+[\"']")


def series() -> Series:
    """Return the series of QUEUE= or of this repository; raises OSError, ValueError."""
    return load_series(environment.patches().parent)


def folder(group: str) -> Path:
    """Return where a group's tests are; it need not exist."""
    return ROOT / "selftests" / group


def chosen(series: Series) -> list[str]:
    """Return the groups that GROUP= names, all when it names none; raises GroupError."""
    names = list(dict.fromkeys(group.name for group in series.groups))
    wanted = environment.chosen()
    if unknown := [name for name in wanted if name not in names]:
        raise GroupError(f"no group '{unknown[0]}' in series; it has: {' '.join(names)}")
    return wanted or names


def pushed(series: Series, tree: Path, how: Callable[[Iterable[bool]], bool] = any) -> list[str]:
    """Return the groups of which any patch is on the tree, or all are, in the order of the series.
    """
    applied = tree / ".pc/applied-patches"
    names = set(applied.read_text().split()) if applied.is_file() else set()
    return list(dict.fromkeys(group.name for group in series.groups
                              if how(patch.name in names for patch in group.patches)))


def kselftests(groups: Iterable[str]) -> dict[str, tuple[str, list[str]]]:
    """Return the kselftest targets of groups: target to (group, NAME=VALUE words)."""
    return {target: (path.parent.name, words.split())
            for path, file in read_all(groups).items()
            for target, words in file.kselftests.items()}


def options(patches: Iterable[Patch]) -> list[str]:
    """Return the options with a prompt that patches add to Kconfig files, sorted."""
    found = set()
    for patch in patches:
        for diff in patch.files:
            symbol = ""
            for line in diff.added if Path(diff.path).name.startswith("Kconfig") else ():
                if match := ENTRY.match(line):
                    symbol = match[1]
                elif symbol and PROMPT.match(line):
                    found.add(symbol)
    return sorted(found)


def features(patches: Iterable[Patch]) -> list[str]:
    """Return the options that patches add to Kconfig files, without those of tests, sorted."""
    return [name for name in options(patches) if "TEST" not in name]


def switches(patches: Iterable[Patch]) -> list[str]:
    """Return the boot parameters, NAME=, and the sysctls, DIRECTORY.NAME, that patches add,
    in order."""
    found = {}
    for patch in patches:
        directory = next((Path(path).stem for path in touched([patch]) if "/sysctl/" in path),
                         "kernel")
        for line in (line for diff in patch.files if diff.path.endswith(".c")
                     for line in diff.added):
            if match := PARAMETER.match(line):
                found[f"{match[1]}="] = None
            elif match := SYSCTL.match(line):
                found[f"{directory}.{match[1]}"] = None
    return list(found)


def fragment(series: Series, tree: Path, name: str) -> str:
    """Return the text of a fragment; raises GroupError when there is none of that name."""
    if name == "all-off":
        gated = (patch for group in series.groups if group.gated for patch in group.patches)
        return "".join(f"# CONFIG_{symbol} is not set\n" for symbol in options(gated))
    groups = pushed(series, tree)
    if name == "all-on" and not groups:
        raise GroupError(f"no patch of the series is on {tree}: run make apply")
    stem = name
    if name == "all-on":
        stem, groups = "options", pushed(series, tree, all)
    files = [folder(group) / f"{stem}.config" for group in groups]
    files = [path for path in (ROOT / "configs" / f"{name}.config", *files) if path.is_file()]
    if not files and name != "all-on":
        raise GroupError(f"no fragment configs/{name}.config, and none of a group on {tree}")
    return "".join(path.read_text() for path in files)


def fragment_lines(text: str) -> list[str]:
    """Return the settings of a fragment: CONFIG_X=..., # CONFIG_X is not set."""
    return re.findall(r"^(?:CONFIG_\w+=.*|# CONFIG_\w+ is not set)$", text, re.M)


def lost_lines(text: str, config: str) -> list[str]:
    """Return the settings that a .config does not have; the last one of a symbol counts."""
    have = set(config.splitlines())
    on = {line.partition("=")[0] for line in have}
    last = {re.search(r"CONFIG_\w+", line)[0]: line.rstrip() for line in fragment_lines(text)}
    return [line for symbol, line in last.items()
            if (symbol in on if line.startswith("#") or line.endswith("=n") else line not in have)]


def kernel(name: str) -> list[str]:
    """Return the fragments of a kernel; raises GroupError."""
    for file in read_all().values():
        if name in file.kernels:
            return file.kernels[name].split()
    raise GroupError(f"no kernel '{name}' in configs/tests.toml or selftests/*/group.toml")


def main(what: str, *words: str) -> None:
    """Do what the first word says; see above."""
    if what == "list":
        for group in series().groups:
            print(f"{group.name}\t{group.why}")
    elif what == "fragments":
        tree, out, *names = words
        for name in names:
            path = Path(out) / f"{name}.config"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fragment(series(), Path(tree), name))
            print(path)
    elif what == "lost":
        config, *files = (Path(word).read_text() for word in words)
        print("\n".join(lost_lines("".join(files), config)))
    elif what == "kernel":
        print("\n".join(kernel(*words)))
    elif what == "targets":
        tree, *more = map(Path, words)
        there = chosen(series()) if more else pushed(series(), tree)
        print(" ".join(target for target in kselftests(there)
                       if (tree / "tools/testing/selftests" / target).is_dir()))
    else:
        raise GroupError(f"unknown word {what}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (ImportError, OSError, TypeError, ValueError) as error:
        sys.exit(f"groups.py: error: {error}")
