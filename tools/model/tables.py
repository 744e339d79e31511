# SPDX-License-Identifier: GPL-2.0
"""Tables of a result."""
from typing import Any

from tools.model.result import ACCESSES, LEVELS, misses
from tools.model.workloads import WORKLOADS

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
    caches = []
    for level in LEVELS:
        kib = geometry[level]["size"] >> 10
        size = f"{kib}K" if kib % 1024 else f"{kib >> 10}M"
        caches.append(f"{HEADS[level]} {size}:{geometry[level]['ways']}")
    return ", ".join([*caches, f"CPUs: {geometry['cpus']}"])


def headline(result: dict[str, Any]) -> str:
    """Return what was run, on what, in three lines."""
    words = " ".join(f"{name}={value}" for name, value in result["words"].items())
    kernel = result["kernel"]
    configuration = kernel.get("configuration")
    named = f", configuration {configuration['name']} ({configuration['hash']})" \
        if configuration else ""
    return (f"{result['workload']} {words}".rstrip() + "\n"
            f"{geometry_words(result['geometry'])}\n"
            f"Linux {kernel['release']}, series {kernel['series']}{kernel['append']}{named}; "
            f"{result['qemu']}")


def columns(rows: list[list[str]], left: int = 0) -> str:
    """Return rows as text, one column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(
        cell.ljust(width) if at == left else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows)


def number(value: float) -> str:
    """Return a count: whole if it is, else with two decimals."""
    return f"{value:.0f}" if value >= 1000 or value == int(value) else f"{value:.2f}"


def unit_of(result: dict[str, Any], name: str) -> tuple[int, str]:
    """Return what a label's counts are divided by, and how that is called: the
    workload's unit for its own label, nothing for others."""
    label, workload = result["labels"][name], WORKLOADS[result["workload"]]
    # The guest counts units of its own labels; an execution counts in every label
    own = name == result["workload"] or workload.labels or not workload.unit_symbol
    return (label["units"], f"per {workload.unit}") if label["units"] and own else (1, "in all")


def accesses(counted: dict[str, Any]) -> int:
    """Return the loads and stores of all kinds."""
    return sum(counted[kind] for kind in ACCESSES)


def last_level(*labels: dict[str, Any]) -> str:
    """Return the level farthest from the CPU that any of the labels missed in."""
    return next((level for level in reversed(LEVELS)
                 if any(misses(label, level) for label in labels)), "l1d")


def by_misses(functions: list[dict[str, Any]], level: str) -> list[dict[str, Any]]:
    """Return functions, those with most misses in a level first."""
    return sorted(functions, key=lambda function: (-misses(function, level), function["name"]))


def summary(result: dict[str, Any], name: str) -> str:
    """Return the table of one label: in all and by kind of data."""
    label, (units, per) = result["labels"][name], unit_of(result, name)

    def row(what: str, missed: list[int], lines: int) -> list[str]:
        return [what, *(number(count / units) for count in missed), str(lines)]

    title = f"{name}, {per}" + (f" ({units} counted)" if per != "in all" else "")
    kinds = sorted(label["kinds"].items())
    rows = [[title, "L1D misses", "L2 misses", "LLC misses", "lines touched in all"],
            row("all", [misses(label, level) for level in LEVELS],
                sum(kind["lines"] for _, kind in kinds)),
            *(row(f"  {kind}", [values[level] for level in LEVELS], values["lines"])
              for kind, values in kinds)]
    executed = label.get("executed", {}).get("instructions")
    instructions = "" if executed is None else (
        f"instructions {number(executed / units)}, accesses "
        f"{number((label['loads'] + label['stores']) / units)}, ")
    return (f"{columns(rows)}\n{object_lines(label)}{instructions}lines written to memory "
            f"{number(label['writebacks'] / units)}, "
            f"non-temporal stores {number(label['stores_nt'] / units)}")


def object_lines(label: dict[str, Any]) -> str:
    """Return for each kind of object how many of its lines are touched, on average, and which are
    in half of the objects and more; nothing when the guest told of none."""
    rows = []
    for kind, found in sorted(label.get("objects", {}).items()):
        mean = sum(found["touched"]) / found["objects"]
        most = [str(line) for line, touched in enumerate(found["touched"])
                if 2 * touched >= found["objects"]]
        rows.append(f"{number(mean)} lines of a {kind}, of {found['objects']}: {' '.join(most)}\n")
    return "".join(rows)


def field_table(result: dict[str, Any], name: str) -> str:
    """Return the fields of task_structs that a label touches in a tenth of them and more."""
    rows = [["line", "offset", "bytes", "loaded", "stored", "field"]]
    for field, offset, size, loaded, stored in result["labels"][name]["fields"]:
        if max(loaded, stored) >= 0.1:
            rows.append([str(offset // 64), str(offset), str(size), f"{100 * loaded:.0f} %",
                         f"{100 * stored:.0f} %", field])
    return f"Fields of task_structs ({name}), shares of the tasks\n{columns(rows, left=5)}"


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
        rows.append([*row, str(accesses(function)), function["name"]])
    return f"Top functions by {HEADS[level]} miss ({name}, in all)\n{columns(rows, left=7)}"


def one(result: dict[str, Any]) -> str:
    """Return all tables of a result, with what was not modelled and the limits under them."""
    parts = [headline(result)]
    for name in result["labels"]:
        parts.append(summary(result, name))
        if result["labels"][name].get("fields"):
            parts.append(field_table(result, name))
        if name == result["workload"]:
            parts.append(top_functions(result, name))
    left_out = (f"Not modelled, of the whole boot: {result['left_out']['io']} accesses to "
                f"devices, {result['left_out']['beyond_2GiB']} above 2 GiB (the firmware's ROM)")
    return "\n\n".join([*parts, left_out, LIMITS]) + "\n"
