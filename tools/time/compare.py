# SPDX-License-Identifier: GPL-2.0
"""Compares two files of make time: one machine, two kernels, or twice the same."""
import json
from pathlib import Path
from typing import Any

from tools.figures.machine import EMULATED, SAME_MODEL, same_model
from tools.model.tables import columns

HEAD = ["program", "unit", "A (quartiles)", "B (quartiles)", "B : A", ""]


def read(path: Path) -> dict[str, Any]:
    """Return a file of make time; raises ValueError that says what is wrong with it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        for key in ("kernel", "machine", "rows"):
            found[key].items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: not a file of make time, or not whole: {error}") from None
    if found["machine"].get("hypervisor") == EMULATED:
        raise ValueError(f"{path}: timed under QEMU's emulation, which says nothing about time")
    return dict(found)


def difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the field in which the machines of two files differ, "" if in none."""
    fields = [(key, one["machine"].get(key), other["machine"].get(key)) for key in SAME_MODEL]
    fields += [(key, one["kernel"].get(key), other["kernel"].get(key))
               for key in ("microcode", "mitigations")]
    for key, a, b in fields:
        if a != b:
            wrong = [name for name in {**a, **b} if a.get(name) != b.get(name)] \
                if isinstance(a, dict) and isinstance(b, dict) else []
            return f"{key} {wrong[0]}" if wrong else key
    return "" if same_model(one["machine"], other["machine"]) else "hypervisor or frequency"


def verdict(a: dict[str, float], b: dict[str, float]) -> str:
    """Return how B compares with A: not at all where their quartiles overlap."""
    if a["low"] <= b["high"] and b["low"] <= a["high"]:
        return "no difference"
    return "B is less" if b["median"] < a["median"] else "B is more"


def table(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the comparison of two files as text; raises ValueError for two machines."""
    if field := difference(one, other):
        raise ValueError(f"two machines: another {field}")
    lines = [HEAD]
    for name, a in one["rows"].items():
        if b := other["rows"].get(name):
            lines.append([name, a["unit"], *(
                f"{x['median']:g} ({x['low']:g}..{x['high']:g})" for x in (a, b)),
                f"{b['median'] / a['median']:.3f}", verdict(a, b)])
    alone = sorted({*one["rows"]} ^ {*other["rows"]})
    kernels = [f"{name}: Linux {file['kernel']['release']}, {file['rounds']} rounds, "
               + (" ".join(f"{key}={value}" for key, value in
                           {**file["kernel"]["options"], **file["kernel"]["switches"]}.items()
                           if value != "n") or "no option of the series")
               for name, file in (("A", one), ("B", other))]
    return "\n".join([*kernels, "", columns(lines),
                      *([f"\nin one of them only: {', '.join(alone)}"] if alone else [])])
