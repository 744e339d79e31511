# SPDX-License-Identifier: GPL-2.0
"""Tables of results: one, or two side by side."""
from __future__ import annotations

from typing import Any

from selftests.model.result import LEVELS, misses
from selftests.model.workloads import WORKLOADS

HEADS = {"l1d": "L1D", "l2": "L2", "llc": "LLC"}
LIMITS = (
    "Modelled, not timed: LRU, 64-byte lines, write back and allocate at each "
    "level; no prefetchers, no write-combining buffers, no slice hash, no page "
    "walks, no instruction fetches. Of an access that crosses into another page "
    "only the first line counts. Fully associative is no lower bound where a cyclic "
    "load is larger than the cache. rep movsb counts two accesses for a byte: compare misses, not "
    "accesses. A page is of the kind that it was when the workload ended.")


def geometry_words(geometry: dict[str, Any]) -> str:
    """Return a geometry in one line."""
    def size(level: str) -> str:
        number = geometry[level]["size"]
        text = f"{number >> 20}M" if number % (1 << 20) == 0 else f"{number >> 10}K"
        return f"{HEADS[level]} {text}:{geometry[level]['ways']}"
    return ", ".join([*map(size, LEVELS), geometry["policy"].upper(),
                      f"NT stores {geometry['nt']}", f"CPUs: {geometry['cpus']}"])


def headline(result: dict[str, Any]) -> str:
    """Return what was run, on what, in three lines."""
    words = " ".join(f"{name}={value}" for name, value in result["words"].items())
    configuration = result["kernel"].get("configuration")
    named = f", configuration {configuration['name']} ({configuration['hash']})" if configuration else ""
    return (f"{result['workload']} {words}".rstrip() + "\n"
            f"{geometry_words(result['geometry'])}\n"
            f"Linux {result['kernel']['release']}, series "
            f"{result['kernel']['series']}{result['kernel']['append']}{named}; "
            f"{result['qemu']}")


def columns(rows: list[list[str]]) -> str:
    """Return rows as text, the first column to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(
        [row[0].ljust(widths[0])] +
        [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
    ).rstrip() for row in rows)


def number(value: float) -> str:
    """Return a count: whole if it is, else with two decimals."""
    return f"{value:.0f}" if value >= 1000 or value == int(value) else f"{value:.2f}"


def unit_of(result: dict[str, Any], name: str) -> tuple[int, str]:
    """Return what a label's counts are divided by, and how that is called: the
    workload's unit for its own label, nothing for others."""
    label, workload = result["labels"][name], WORKLOADS[result["workload"]]
    # The guest counts units of its own labels; an execution counts in every label
    if label["units"] and (name == result["workload"] or workload.labels or not workload.unit_symbol):
        return label["units"], f"per {workload.unit}"
    return 1, "in all"


def last_level(*labels: dict[str, Any]) -> str:
    """Return the level farthest from the CPU that any of the labels missed in."""
    return next((level for level in reversed(LEVELS)
                 if any(misses(label, level) for label in labels)), "l1d")


def by_misses(functions: list[dict[str, Any]], level: str) -> list[dict[str, Any]]:
    """Return functions, those with most misses in a level first."""
    return sorted(functions, key=lambda function: (-misses(function, level), function["name"]))


def summary(result: dict[str, Any], name: str) -> str:
    """Return the table of one label: in all, by kind of data, and with fully
    associative caches where that was counted."""
    label, (units, per) = result["labels"][name], unit_of(result, name)
    title = f"{name}, {per}" + (f" ({units} counted)" if per != "in all" else "")
    rows = [[title, "L1D misses", "L2 misses", "LLC misses", "lines touched in all"]]
    lines = sum(kind["lines"] for kind in label["kinds"].values())
    rows.append(["all", *(number(misses(label, level) / units) for level in LEVELS), str(lines)])
    for kind, values in sorted(label["kinds"].items()):
        rows.append([f"  {kind}", *(number(values[level] / units) for level in LEVELS),
                     str(values["lines"])])
    bound = result.get("fully_associative")
    if bound:
        rows.append(["all, fully associative", *(
            number(misses(bound[name], level) / units) for level in LEVELS), ""])
    executed = label.get("executed", {}).get("instructions")
    instructions = "" if executed is None else (
        f"instructions {number(executed / units)}, accesses "
        f"{number((label['loads'] + label['stores']) / units)}, ")
    further = ", ".join(f"{cache} {number(found['all'] / units)}" for cache, found in label.get("further", {}).items())
    if further:
        further = f"misses of further caches: {further}\n"
    return (f"{columns(rows)}\n{further}{instructions}lines written to memory {number(label['writebacks'] / units)}, "
            f"non-temporal stores {number(label['stores_nt'] / units)}")


def top_functions(result: dict[str, Any], name: str, most: int = 10) -> str:
    """Return the functions with most misses in the last level that has any, as
    a profiler would: their misses in each level and their share."""
    label = result["labels"][name]
    level = last_level(label)
    rows = [["LLC misses", "%", "L2 misses", "%", "L1D misses", "%", "accesses", "function"]]
    for function in by_misses(label["functions"], level)[:most]:
        row = []
        for each in reversed(LEVELS):
            missed, total = misses(function, each), misses(label, each)
            row += [str(missed), f"{100 * missed / total:.2f}" if total else "-"]
        accesses = function["loads"] + function["stores"] + function["stores_nt"]
        rows.append([*row, str(accesses), function["name"]])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    table = "\n".join("  ".join(
        [cell.rjust(width) for cell, width in zip(row[:-1], widths)] + [row[-1]])
        for row in rows)
    return f"Top functions by {HEADS[level]} miss ({name}, in all)\n{table}"


def one(result: dict[str, Any], most: int = 10) -> str:
    """Return all tables of a result, with the limits under them. most: how many
    functions, of the workload's own label and those of --range."""
    parts = [headline(result)]
    for name in result["labels"]:
        parts.append(summary(result, name))
        if name == result["workload"]:
            parts.append(top_functions(result, name, most))
    return "\n\n".join([*parts, left_out(result), LIMITS]) + "\n"


def left_out(result: dict[str, Any]) -> str:
    """Return what was not modelled, boot and firmware included."""
    return (f"Not modelled, of the whole boot: {result['left_out']['io']} accesses to "
            f"devices, {result['left_out']['beyond_2GiB']} above 2 GiB (the firmware's ROM)")


def differences(left: dict[str, Any], right: dict[str, Any]) -> list[str]:
    """Return what two results differ in, of what was set: "NAME: A, B"."""
    found = []
    for key in ("words", "geometry", "kernel", "qemu", "cpu", "memory"):
        a, b = left.get(key), right.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            found += [f"{key} {name}: {a.get(name)}, {b.get(name)}"
                      for name in {**a, **b} if a.get(name) != b.get(name)]
        elif a != b:
            found.append(f"{key}: {a}, {b}")
    return found


def _row(what: str, values: list[float]) -> list[str]:
    """Return a row of A, B and B/A."""
    left, right = values
    return [what, number(left), number(right), f"{right / left:.3f}" if left else "-"]


def side_by_side(left: dict[str, Any], right: dict[str, Any], most: int = 10) -> str:
    """Return two results of one workload beside each other: A, B and B/A, per
    unit where there is one. most: how many functions of either."""
    parts = [f"A: {headline(left)}", f"B: {headline(right)}",
             "They differ in\n" + "\n".join(
                 f"  {line}" for line in differences(left, right) or ["nothing that was set"])]
    for name in (name for name in left["labels"] if name in right["labels"]):
        labels = left["labels"][name], right["labels"][name]
        (units_a, per), (units_b, _) = unit_of(left, name), unit_of(right, name)
        units = units_a, units_b
        rows = [[f"{name}, {per}", "A", "B", "B/A"]]
        for level in LEVELS:
            rows.append(_row(f"{HEADS[level]} misses", [
                misses(label, level) / unit for label, unit in zip(labels, units)]))
            rows += [_row(f"  {kind}", [
                label["kinds"].get(kind, {}).get(level, 0) / unit
                for label, unit in zip(labels, units)])
                for kind in sorted({*labels[0]["kinds"], *labels[1]["kinds"]})]
        rows += [_row(f"{cache} misses", [label["further"][cache]["all"] / unit for label, unit in zip(labels, units)])
                 for cache in labels[0].get("further", {}) if cache in labels[1].get("further", {})]
        rows.append(_row("lines written to memory", [
            label["writebacks"] / unit for label, unit in zip(labels, units)]))
        rows.append(_row("accesses", [
            (label["loads"] + label["stores"] + label["stores_nt"]) / unit for label, unit in zip(labels, units)]))
        if all("instructions" in label["executed"] for label in labels):
            rows.append(_row("instructions", [
                label["executed"]["instructions"] / unit for label, unit in zip(labels, units)]))
        parts.append(columns(rows))
        if name == left["workload"]:
            parts.append(functions_side_by_side(labels, units, per, most))
    return "\n\n".join([*parts, LIMITS]) + "\n"


def functions_side_by_side(labels: tuple[dict[str, Any], dict[str, Any]],
                           units: tuple[int, int], per: str, most: int) -> str:
    """Return the functions with most misses of two labels beside each other."""
    level = last_level(*labels)
    found = [{function["name"]: function for function in label["functions"]} for label in labels]
    top = list(dict.fromkeys(
        function["name"] for label in labels
        for function in by_misses(label["functions"], level)[:most]))
    rows = [[f"Top functions by {HEADS[level]} miss, {per}", "A", "B", "B/A"]]
    for name in top:
        rows.append(_row(name, [
            misses(functions[name], level) / unit if name in functions else 0
            for functions, unit in zip(found, units)]))
    return columns(rows)
