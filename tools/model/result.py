# SPDX-License-Identifier: GPL-2.0
"""Make one result of what the plugin counted and what the guest printed."""
from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from tools.model.symbols import Symbols, Variables
from tools.model.workload import KINDS, OBJECTS, ModelError

LEVELS = ("l1d", "l2", "llc")
ACCESSES = ("loads", "stores", "stores_nt")


def check_console(lines: list[str]) -> None:
    """Raise ModelError unless the guest came to its end without an error."""
    for line in lines:
        if line.startswith("cachemodel: error: "):
            raise ModelError("the guest: " + line.removeprefix("cachemodel: error: "))
    if "cachemodel: done" not in lines:
        last = next((line for line in reversed(lines) if line.strip()), "nothing")
        raise ModelError(f"the guest did not come to its end; its last line: {last}")


def module_symbols(lines: list[str]) -> list[str]:
    """Return the lines of /proc/kallsyms about modules."""
    return [line.removeprefix("cachemodel: symbol ") for line in lines
            if line.startswith("cachemodel: symbol ")]


def counts(numbers: list[int]) -> dict[str, Any]:
    """Name the numbers of tallies. numbers: for each count of levels that were missed in the
    loads, stores and non-temporal stores, then the lines written to memory."""
    by_kind = {name: numbers[at:-1:3] for at, name in enumerate(ACCESSES)}
    missed = {f"{name[:-1]}_misses": {level: sum(by_kind[name][at:])
                                      for at, level in enumerate(LEVELS, 1)}
              for name in ACCESSES[:2]}
    return {**{name: sum(found) for name, found in by_kind.items()}, **missed,
            "writebacks": numbers[-1]}


def misses(counted: dict[str, Any], level: str) -> int:
    """Return the misses of loads and stores in a level."""
    return counted["load_misses"][level] + counted["store_misses"][level]


def by_function(sites: list[list[int]], symbols: Symbols) -> list[dict[str, Any]]:
    """Return the functions of a label, most LLC misses first (then L2, L1D)."""
    sums: dict[str, list[list[int]]] = defaultdict(list)
    for address, _, *numbers in sites:
        sums[symbols.name(address)].append(numbers)
    functions = [{"name": name, **counts([*map(sum, zip(*numbers))])}
                 for name, numbers in sums.items()]
    return sorted(functions, key=lambda function: (
        [-misses(function, level) for level in reversed(LEVELS)], function["name"]))


def by_kind(kinds: dict[str, list[int]]) -> dict[str, dict[str, int]]:
    """Name the kinds of data and their numbers: lines touched, misses."""
    return {KINDS.get(kind, f"kind {kind}"): dict(zip(("lines", *LEVELS), numbers))
            for kind, numbers in kinds.items()}


def by_variable(words: list[list[int]], variables: Variables) -> list[dict[str, Any]]:
    """Return the static variables that a label accessed, most L1D misses first.

    words: [address, loads, stores, misses, whether it was stored since the first label began]. A
    miss is of the variable whose access it was, not of the others on that line.
    """
    sums: dict[tuple[str, int], list[list[int]]] = defaultdict(list)
    for address, *numbers in words:
        sums[variables.at(address)].append(numbers)
    found = []
    for (name, size), numbers in sums.items():
        if not name:
            continue
        loads, stores, missed, stored = map(sum, zip(*numbers))
        found.append({"name": name, "size": size, "loads": loads, "stores": stores,
                      "l1d": missed, "stored": bool(stored)})
    return sorted(found, key=lambda variable: (-variable["l1d"], variable["name"]))


def label_results(raw: dict[str, Any], lines: list[str], symbols: Symbols,
                  variables: Variables | None = None) -> dict[str, Any]:
    """Return the results of all labels by name.

    raw: what the plugin wrote; lines: of the guest's console; variables: if they are counted.
    Raises ModelError when a label that the guest named was never begun, or one was left begun.
    """
    named = (re.search(r"cachemodel: label (\d+) (\S+)$", line) for line in lines)
    names = {found[1]: found[2] for found in named if found}
    never = [name for number, name in names.items() if number not in raw["labels"]]
    if never or not raw["labels"]:
        raise ModelError(f"nothing was counted for {', '.join(never) or 'any label'}")
    results = {}
    for number, label in raw["labels"].items():
        if label["unbalanced"] or label["begun"] != label["ended"]:
            raise ModelError(
                f"label {names.get(number, number)} was begun {label['begun']} and ended "
                f"{label['ended']} times, {label['unbalanced']} out of order: its counts mean "
                "nothing")
        sites = [site for site in raw["sites"] if site and site[1] >> int(number) & 1]
        instructions = {"instructions": label["instructions"]} if label["instructions"] else {}
        results[names.get(number, f"label {number}")] = {
            "units": label["units"], "executed": instructions,
            **counts([*map(sum, zip([0] * 13, *(site[2:] for site in sites)))]),
            "kinds": by_kind(label["kinds"]),
            "objects": {(KINDS | OBJECTS)[kind]: found for kind, found in label["objects"].items()},
            **({"variables": by_variable(label["words"], variables)} if variables else {}),
            "functions": by_function(sites, symbols)}
    return results
