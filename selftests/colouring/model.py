# SPDX-License-Identifier: GPL-2.0
"""The table of what a context switch touches: lines of a task's structures, and which fields of its
task_struct, in rings of 64 tasks on base.config.

`make model-tables GROUP=colouring` makes Documentation/results/colouring/model.rst. No colours are
used.
"""
from __future__ import annotations

from typing import Any

from selftests.model import tables
from selftests.model.published import Published, literal, result_of, wrapped
from selftests.model.result import misses
from selftests.results.store import Table

KINDS = ("pipe", "futex", "threads")
# Whether the entry code moves the stack by a random number of bytes
RANDOM = {"fixed": "randomize_kstack_offset=off", "random": "randomize_kstack_offset=on"}
LINE = 64
SHARE = 0.5     # of the tasks, from which on a field counts as touched


def cells() -> dict[str, list[str]]:
    """Return the runs by name: the options of model run."""
    return {f"{kind}-{name}": ["ring", "--fields", f"--set=kind={kind}", f"--append={word}"]
            for kind in KINDS for name, word in RANDOM.items()}


def kept(_name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return what the page needs of a boot: misses, lines by kind of object, fields."""
    label = result["labels"]["ring"]
    lines = {kind: sum(found["touched"]) / found["objects"] for kind, found in label["objects"].items()}
    lines["kernel stack"] = label["kinds"]["kernel stack"]["lines"] / label["objects"]["task_struct"]["objects"]
    return {"ring": {"units": label["units"], "l1d": misses(label, "l1d"), "l2": misses(label, "l2"),
                     "lines": {kind: round(count, 2) for kind, count in lines.items()},
                     "fields": label["fields"]}}


def line_table(table: Table) -> str:
    """Return lines of each kind of object and misses, a column for each run."""
    runs = {name.removesuffix("/ring"): cell for name, cell in table["cells"].items()}
    rows = [["lines of a", *runs]]
    for kind in sorted({kind for cell in runs.values() for kind in cell["lines"]}):
        rows.append([kind, *(f"{cell['lines'].get(kind, 0):.1f}" for cell in runs.values())])
    for level in ("l1d", "l2"):
        rows.append([f"{tables.HEADS[level]} misses per switch",
                     *(f"{cell[level] / cell['units']:.1f}" for cell in runs.values())])
    return tables.columns(rows)


def field_table(table: Table) -> str:
    """Return the fields of a task_struct that half of the tasks of a ring touch: loaded, stored."""
    marks: dict[tuple[int, str], dict[str, str]] = {}
    for kind in KINDS:
        for name, offset, _, loaded, stored in table["cells"][f"{kind}-fixed/ring"]["fields"]:
            mark = "l" * (loaded >= SHARE) + "s" * (stored >= SHARE)
            if mark:
                marks.setdefault((offset, name), {})[kind] = mark
    rows = [["line", "offset", *KINDS, "field"]]
    for (offset, name), found in sorted(marks.items()):
        rows.append([str(offset // LINE), str(offset), *(found.get(kind, "") for kind in KINDS), name])
    return tables.columns(rows, left=5)


ABOUT = ("Rings of 64 tasks on one CPU, one boot each; a task's lines that are touched in 50 rounds, mean "
         "of all tasks. fixed, random: randomize_kstack_offset=off, on. Behind the task_struct is the FPU's "
         "state, which QEMU saves whole and a CPU with XSAVES in part.")
ABOUT_FIELDS = ("Fields of a task_struct that half of the tasks touch and more, stack offset fixed: l loaded, s "
                "stored. Four bytes are told apart, not what is within them.")


def page(table: Table) -> str:
    """Return the page, without its head."""
    head = tables.headline(result_of(table, f"{KINDS[0]}-fixed")).split("\n", 1)[1]
    return "\n".join([literal(f"{wrapped(ABOUT)}\n{head}"), literal(line_table(table)),
                      wrapped(ABOUT_FIELDS) + "\n", literal(field_table(table)),
                      literal(wrapped(tables.LIMITS))])


PUBLISHED = Published("colouring", cells(), kept, ("RANDOMIZE_KSTACK_OFFSET",))
