# SPDX-License-Identifier: GPL-2.0
"""The tables of colouring, made of invented results whose numbers are computed by hand."""
from __future__ import annotations

import math
from typing import Any

import pytest

from selftests.colouring import model as colouring
from selftests.results import store

pytestmark = pytest.mark.static
UNITS = 100
# Misses per switch of each choice, wherever nothing else is said
MISSES = {"off": 20.0, "struct": 15.0, "stack lines": 12.0, "stack pages": 18.0, "all": 1.0,
          "off, churn": 22.0, "all, churn": 4.0}


def a_label(missed: float, n_functions: int) -> dict[str, Any]:
    """Return the counts of a ring with so many misses per switch, of loads.

    The further caches miss half as often, and the first functions most in L1D.
    """
    count = round(missed * UNITS)
    levels = {"l1d": count, "l2": count, "llc": 0}
    none = dict.fromkeys(levels, 0)
    others = {"stores": 0, "stores_nt": 0, "writebacks": 0, "store_misses": none}
    functions = [{"name": f"function_{number}", "loads": 1000, **others,
                  "load_misses": {"l1d": count - number, "l2": number, "llc": 0}}
                 for number in range(n_functions)]
    half = {"all": count // 2, "other": count // 2}
    return {"units": UNITS, "executed": {"unit": UNITS}, "loads": 100000, **others,
            "load_misses": levels, "kinds": {"other": {"lines": 5, **levels}},
            "functions": functions, "further": dict.fromkeys(colouring.ALSO, half)}


def a_result(choice: str, perturb: int, special: dict[tuple[str, str], float]) -> dict[str, Any]:
    """Return a boot's result. special: misses of a choice's ring that are others."""
    # The layouts differ by -0.2, -0.1, 0, 0.1, 0.2: a mean that can be seen
    by = (colouring.PERTURB.index(perturb) - 2) / 10
    n_functions = 20 if (choice, perturb) == ("all", 0) else 1
    rings = [f"{kind}_{tasks}" for kind in colouring.KINDS for tasks in colouring.TASKS]
    labels = {ring: a_label(special.get((choice, ring), MISSES[choice]) + by, n_functions)
              for ring in rings}
    caches = dict.fromkeys(("l1d", "l2", "llc"), {"size": 49152, "ways": 12})
    return {"kind": "modelled", "workload": "rings", "words": {}, "memory": "1G", "qemu": "QEMU",
            "cpu": "max", "command": "make model", "date": "2026-01-01", "labels": labels,
            "geometry": {**caches, "line": 64, "policy": "lru", "nt": "evict", "cpus": 1},
            "kernel": {"release": "7.3.4", "series": "x", "append": f" {choice}",
                       "configuration": None}}


def table_of(special: dict[tuple[str, str], float]) -> store.Table:
    """Return the table of invented results."""
    return colouring.PUBLISHED.table_of(
        {colouring.cell_name(choice, perturb): a_result(choice, perturb, special)
         for choice in colouring.CHOICES for perturb in colouring.PERTURB}, {})


def text_of(special: dict[tuple[str, str], float] | None = None) -> str:
    """Return the page made of invented results."""
    return colouring.page(table_of(special or {}))


@pytest.fixture(name="plain_page", scope="module")
def fixture_plain_page() -> str:
    """The page of results without anything special."""
    return text_of()


def rows_of(text: str, start: str) -> list[str]:
    """Return the lines that begin so, with single blanks."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return [line for line in lines if line.startswith(start)]


def test_model_cells() -> None:
    """Each choice of colours is booted with each layout, and all rings have labels."""
    runs = colouring.cells()
    assert len(runs) == len(colouring.CHOICES) * len(colouring.PERTURB) == 35
    assert len(colouring.KINDS) * len(colouring.TASKS) <= 32  # guest/ring.c
    assert all("--append=clearcpuid=pku" in words for words in runs.values())
    assert len(colouring.ALSO) <= 8 and "--set=perturb=31" in runs["off-31"]
    assert "--append=kstack_colours=page" in runs["stack-pages-0"]
    assert "--set=churn=32" in runs["all-churn-100"] and "--set=churn=0" in runs["all-100"]


def test_model_table() -> None:
    """Means and spreads of each choice, each cache and each ring stand where they should."""
    text = text_of({("struct", "futex_64"): 7})
    steady = rows_of(text, "64 20.0 (19.8..20.2) ")
    # Three kinds in L1D and in L2 1M; the bound is a further cache
    assert steady.count("64 20.0 (19.8..20.2) 15.0 (14.8..15.2) 12.0 (11.8..12.2) "
                        "18.0 (17.8..18.2) 1.0 (0.8..1.2) 10.0 (9.9..10.1)") == 4
    assert len(steady) == 6 and sum(" 7.0 (6.8..7.2) " in row for row in steady) == 2
    assert len(rows_of(text, "64 10.0 (9.9..10.1) ")) == 6
    assert len(rows_of(text, "512 22.0 (21.8..22.2) 4.0 (3.8..4.2)")) == 6
    assert max(map(len, text.split("\n"))) <= 125


def test_model_verdicts(plain_page: str) -> None:
    """A verdict holds to its limit and no further, in the cell that it is about."""
    text = plain_page
    assert len(rows_of(text, "L1D 48K:12, N = ")) == 2 + 6 + 3
    assert " does not hold " not in " ".join(text.split())
    assert rows_of(text, "L1D 48K:12, N = 8, threads 20") == [
        "L1D 48K:12, N = 8, threads 20.0 (19.8..20.2) 1.0 (0.8..1.2) -95.0 % at least -80 % "
        "holds apart"]
    bad = text_of({
        ("all", "threads_8"): 4.2, ("all", "pipe_8"): 12, ("all", "pipe_12"): 22.2,
        ("all", "futex_12"): 22, ("all", "pipe_128"): 20.1})
    for start, end in (
            ("L1D 48K:12, N = 8, threads 20", "-79.0 % at least -80 % does not hold apart"),
            ("L1D 48K:12, N = 8, pipe 20", "-40.0 % at least -40 % holds apart"),
            ("L1D 48K:12, N = 12, pipe", "+11.0 % at most +10 % does not hold apart"),
            ("L1D 48K:12, N = 12, futex", "+10.0 % at most +10 % holds apart"),
            ("L2 1M:16, N = 128, pipe", "+0.5 % at least -50 % does not hold overlap")):
        assert rows_of(bad, start)[0].endswith(end), start
    loss = rows_of(bad, "all, against off:")[0]
    assert loss.startswith("all, against off: +11.0 %, ") and loss.endswith(":12, N = 12, pipe")
    assert rows_of(bad, "struct, against off:") == ["struct, against off: none"]


@pytest.mark.parametrize("old, new, more, row, loss", [
    (0, 3, math.inf, "+inf % at most +10 % does not hold apart", "+inf %"),
    (0, 0, 0, "+0.0 % at most +10 % holds overlap", "none"),
    (0.5, 3, 500, "+500.0 % at most +10 % does not hold apart", "+500.0 %"),
    (0.5, 0.75, 50, "+50.0 % at most +10 % does not hold apart", "none"),
    (3, 0, -100, "-100.0 % at most +10 % holds apart", "none"),
])
def test_model_next_to_nothing(monkeypatch: pytest.MonkeyPatch, old: float, new: float,
                               more: float, row: str, loss: str) -> None:
    """A cell where one of two choices has no or few misses."""
    results = {choice: [{"pipe_12": {"units": UNITS, "l1d": missed * UNITS}}]
               for choice, missed in (("off", old), ("all", new))}
    cell = (colouring.L1D, "pipe", 12, 10)
    for name, value in (("CACHES", (colouring.L1D,)), ("KINDS", ("pipe",)), ("TASKS", (12,))):
        monkeypatch.setattr(colouring, name, value)
    assert colouring.change(results, *cell[:3])[2] == more
    assert " ".join(colouring.verdict_row(results, cell, loss=True)).endswith(row)
    assert colouring.largest_loss(results, "off", "all").startswith(f"all, against off: {loss}")


def test_model_still_missing(plain_page: str) -> None:
    """The functions are those that miss most in the cache they stand under."""
    after = plain_page.split("L1D 48K:12, N = 8, pipe, all", 1)[1]
    after = after.split("L2 1M:16, N = 64, pipe, all")
    assert "function_0()" in after[0] and "function_19()" not in after[0]
    assert "function_19()" in after[1] and "function_0()" not in after[1]


def test_model_kept_is_small() -> None:
    """What is kept has what the page needs and little else."""
    table = table_of({})
    assert len(table["cells"]) == 35 * 27 and len(store.text_of(table)) < 300_000
    cells = table["cells"]
    assert len(cells["all-0/pipe_8"]["functions"]) == colouring.FUNCTIONS
    assert "kinds" in cells["all-3/pipe_8"] and "functions" not in cells["all-3/pipe_8"]
    assert not {"kinds", "functions"} & {*cells["all-0/pipe_4"], *cells["off-0/pipe_8"]}
