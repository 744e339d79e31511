# SPDX-License-Identifier: GPL-2.0
"""Tables of results: one, two side by side, several as a table of misses."""
from __future__ import annotations

from typing import Any

from result import LEVELS, misses
from workloads import WORKLOADS

HEADS = {"l1d": "L1D", "l2": "L2", "llc": "LLC"}
LIMITS = (
    "Modelled, not timed: LRU, 64-byte lines, write back and allocate at each "
    "level; no prefetchers, no write-combining buffers, no slice hash, no page "
    "walks, no instruction fetches. A line that crosses into another page counts "
    "once. rep movsb counts two accesses for a byte: compare misses, not "
    "accesses. A page is of the kind that it was when the workload ended.")


def geometry_words(geometry: dict[str, Any]) -> str:
    """Return a geometry in one line."""
    def size(level: str) -> str:
        number = geometry[level]["size"]
        text = f"{number >> 20}M" if number % (1 << 20) == 0 else f"{number >> 10}K"
        return f"{HEADS[level]} {text}:{geometry[level]['ways']}"
    return ", ".join([*map(size, LEVELS), geometry["policy"].upper(),
                      f"NT stores {geometry['nt']}", f"{geometry['cpus']} CPU"])


def headline(result: dict[str, Any]) -> str:
    """Return what was run, on what, in three lines."""
    words = " ".join(f"{name}={value}" for name, value in result["words"].items())
    return (f"{result['workload']} {words}\n"
            f"{geometry_words(result['geometry'])}\n"
            f"Linux {result['kernel']['release']}, series "
            f"{result['kernel']['series']}{result['kernel']['append']}; "
            f"{result['qemu']}")


def columns(rows: list[list[str]]) -> str:
    """Return rows as text, the first column to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(
        [row[0].ljust(widths[0])] +
        [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
    ).rstrip() for row in rows)


def number(value: float) -> str:
    """Return a count with as many decimals as it needs to be read."""
    return f"{value:.0f}" if value >= 1000 or value == int(value) else f"{value:.2f}"


def per_unit(label: dict[str, Any]) -> int:
    """Return what to divide by: the units, or 1 where nothing is a unit."""
    return label["units"] or 1


def summary(result: dict[str, Any], name: str) -> str:
    """Return the table of one label: in all, by kind of data, and the bound."""
    label = result["labels"][name]
    units, unit = per_unit(label), WORKLOADS[result["workload"]].unit
    title = f"{name}, per {unit} ({label['units']} counted)" if label["units"] else name
    rows = [[title, "L1D misses", "L2 misses", "LLC misses", "lines touched in all"]]
    lines = sum(kind["lines"] for kind in label["kinds"].values())
    rows.append(["all", *(number(misses(label, level) / units) for level in LEVELS),
                 str(lines)])
    for kind, values in sorted(label["kinds"].items()):
        rows.append([f"  {kind}", *(number(values[level] / units) for level in LEVELS),
                     str(values["lines"])])
    bound = result.get("fully_associative")
    if bound:
        rows.append(["all, fully associative", *(
            number(misses(bound[name], level) / units) for level in LEVELS), ""])
    rows.append([f"write-backs {number(label['writebacks'] / units)}, non-temporal "
                 f"stores {number(label['stores_nt'] / units)}", "", "", "", ""])
    return columns(rows)


def top_functions(result: dict[str, Any], name: str, most: int = 10) -> str:
    """Return the functions with most LLC misses, as a profiler would."""
    label = result["labels"][name]
    total = {level: max(misses(label, level), 1) for level in LEVELS}
    rows = [["LLC misses", "%", "L2 misses", "%", "L1D misses", "%", "accesses",
             "function"]]
    for function in label["functions"][:most]:
        row = []
        for level in reversed(LEVELS):
            missed = misses(function, level)
            row += [str(missed), f"{100 * missed / total[level]:.2f}"]
        accesses = function["loads"] + function["stores"] + function["stores_nt"]
        rows.append([*row, str(accesses), function["name"]])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(
        [cell.rjust(width) for cell, width in zip(row[:-1], widths)] + [row[-1]])
        for row in rows)


def one(result: dict[str, Any], most: int = 10) -> str:
    """Return all tables of a result, with the limits under them."""
    parts = [headline(result)]
    for name in result["labels"]:
        parts.append(summary(result, name))
        if name == result["workload"]:
            parts.append(f"Top functions by LLC miss ({name})\n"
                         + top_functions(result, name, most))
    return "\n\n".join([*parts, LIMITS]) + "\n"


def _ratio(left: float, right: float) -> str:
    return f"{right / left:.3f}" if left else "-"


def side_by_side(left: dict[str, Any], right: dict[str, Any],
                 most: int = 10) -> str:
    """Return two results of one workload beside each other: A, B and B/A."""
    parts = [f"A: {headline(left)}", f"B: {headline(right)}"]
    for name in (name for name in left["labels"] if name in right["labels"]):
        labels = left["labels"][name], right["labels"][name]
        rows = [[f"{name}, per unit", "A", "B", "B/A"]]

        def add(what: str, values: list[float]) -> None:
            rows.append([what, *map(number, values), _ratio(*values)])
        for level in LEVELS:
            add(f"{HEADS[level]} misses",
                [misses(label, level) / per_unit(label) for label in labels])
            for kind in sorted({*labels[0]["kinds"], *labels[1]["kinds"]}):
                add(f"  {kind}", [label["kinds"].get(kind, {}).get(level, 0)
                                  / per_unit(label) for label in labels])
        add("write-backs", [label["writebacks"] / per_unit(label) for label in labels])
        parts.append(columns(rows))
        both = [{function["name"]: function for function in label["functions"]}
                for label in labels]
        top = list(dict.fromkeys(function["name"] for label in labels
                                 for function in label["functions"][:most]))
        rows = [["Top functions by LLC miss, in all", "A", "B", "B/A"]]
        for function in top:
            add(function, [misses(part[function], "llc") if function in part else 0
                           for part in both])
        parts.append(columns(rows))
    return "\n\n".join([*parts, LIMITS]) + "\n"
