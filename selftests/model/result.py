# SPDX-License-Identifier: GPL-2.0
"""From what the plugin counted and the guest told to one result."""
from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from selftests.model.symbols import Symbols
from selftests.model.workloads import KINDS

LEVELS = ("l1d", "l2", "llc")


class ResultError(RuntimeError):
    """The guest failed, or the counts are not those of a whole run."""


def check_console(lines: list[str]) -> None:
    """Raise ResultError unless the guest came to its end without an error."""
    for line in lines:
        if line.startswith("cachemodel: error: "):
            raise ResultError("the guest: " + line.removeprefix("cachemodel: error: "))
    if "cachemodel: done" not in lines:
        last = next((line for line in reversed(lines) if line.strip()), "nothing")
        raise ResultError(f"the guest did not come to its end; last it said: {last}")


def label_names(lines: list[str]) -> dict[str, str]:
    """Return the labels' names by number, as the guest told them."""
    told = (re.search(r"cachemodel: label (\d+) (\S+)$", line) for line in lines)
    return {found[1]: found[2] for found in told if found}


def module_symbols(lines: list[str]) -> list[str]:
    """Return the lines of /proc/kallsyms about modules."""
    return [line.removeprefix("cachemodel: symbol ") for line in lines
            if line.startswith("cachemodel: symbol ")]


def counts(numbers: list[int]) -> dict[str, Any]:
    """Name the plugin's ten numbers: accesses and misses, in lines."""
    return {"loads": numbers[0], "stores": numbers[1], "stores_nt": numbers[2],
            "load_misses": dict(zip(LEVELS, numbers[3:6])),
            "store_misses": dict(zip(LEVELS, numbers[6:9])),
            "writebacks": numbers[9]}


def misses(counted: dict[str, Any], level: str) -> int:
    """Return the misses of loads and stores in a level."""
    return counted["load_misses"][level] + counted["store_misses"][level]


def by_function(sites: dict[str, list[int]], symbols: Symbols) -> list[dict[str, Any]]:
    """Return the functions of a label, most LLC misses first (then L2, L1D)."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * 10)
    for site, numbers in sites.items():
        name = symbols.name(int(site.removesuffix("nt"), 16))
        sums[name] = [a + b for a, b in zip(sums[name], numbers)]
    functions = [{"name": name, **counts(numbers)} for name, numbers in sums.items()]
    return sorted(functions, key=lambda function: (
        [-misses(function, level) for level in reversed(LEVELS)],
        function["name"]))


def by_kind(kinds: dict[str, list[int]]) -> dict[str, dict[str, int]]:
    """Name the kinds of data and their numbers: lines touched, misses."""
    return {KINDS.get(kind, f"kind {kind}"):
            dict(zip(("lines", *LEVELS), numbers)) for kind, numbers in kinds.items()}


def further_names(geometry: dict[str, Any]) -> list[str]:
    """Return what the further caches are called, as the plugin was told."""
    def size(number: int) -> str:
        return f"{number >> 20}M" if number % (1 << 20) == 0 else f"{number >> 10}K"
    return [f"{cache['level']}:{size(cache['size'])}:{cache['ways']}" for cache in geometry.get("further", [])]


def by_further(kinds: dict[str, list[int]], names: list[str]) -> dict[str, dict[str, int]]:
    """Return the misses of each further cache, by kind of data and in all."""
    found = {}
    for at, name in enumerate(names):
        by = {KINDS.get(kind, f"kind {kind}"): numbers[at] for kind, numbers in kinds.items()}
        found[name] = {"all": sum(by.values()), **by}
    return found


def label_result(name: str, raw: dict[str, Any], unit_symbol: bool,
                 symbols: Symbols, further: list[str]) -> dict[str, Any]:
    """Return one label's result; raises ResultError if it was left begun.

    raw: the plugin's; unit_symbol: see label_results(); further: the names of the further caches.
    """
    if raw["unbalanced"] or raw["begun"] != raw["ended"]:
        raise ResultError(
            f"label {name} was begun {raw['begun']} and ended {raw['ended']} times, "
            f"{raw['unbalanced']} out of order: its counts mean nothing")
    units = raw["executed"].get("unit", 0) if unit_symbol else raw["units"]
    return {"units": units, "executed": raw["executed"],
            **counts(raw["counts"]), "kinds": by_kind(raw["kinds"]),
            **({"further": by_further(raw["further"], further)} if further else {}),
            "functions": by_function(raw["sites"], symbols)}


def label_results(raw: dict[str, Any], lines: list[str], unit_symbol: bool,
                  symbols: Symbols) -> dict[str, Any]:
    """Return the results of all labels by name.

    raw: what the plugin wrote; lines: of the guest's console; unit_symbol:
    whether a unit is an execution that the plugin counted. Raises ResultError,
    also when a label that the guest told of was never begun.
    """
    names = label_names(lines)
    never = [name for number, name in names.items() if number not in raw["labels"]]
    if never or not raw["labels"]:
        raise ResultError(f"nothing was counted for {', '.join(never) or 'any label'}")
    further = further_names(raw["geometry"])
    return {names.get(number, f"label {number}"):
            label_result(names.get(number, number), label, unit_symbol, symbols, further)
            for number, label in raw["labels"].items()}
