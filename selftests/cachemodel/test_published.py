# SPDX-License-Identifier: GPL-2.0
"""The published tables are made of the kept results, and those are whole."""
from __future__ import annotations

import json
from types import ModuleType

import pytest

import before
import colouring
import nontemporal
import usercopy
from published import RESULTS

pytestmark = pytest.mark.static
KEYS = {"kind", "workload", "words", "geometry", "kernel", "qemu", "cpu", "memory",
        "command", "date", "labels"}
SCRIPTS = pytest.mark.parametrize("script", [before, colouring, nontemporal, usercopy],
                                  ids=lambda script: script.__name__)


@pytest.fixture(autouse=True)
def skip_unpublished(request: pytest.FixtureRequest) -> None:
    """Tables that no document includes and none of whose results is there have
    nothing to be compared."""
    script = request.node.callspec.params["script"] if hasattr(request.node, "callspec") else before
    page = f"results/{script.__name__}.rst"
    included = any(f".. include:: {page}" in document.read_text() for document in RESULTS.parent.glob("*.rst"))
    made = [*RESULTS.parent.glob(page), *script.PUBLISHED.directory.glob("*.json")]
    if script is colouring and not included and not made:
        pytest.skip("the tables of colouring are not published yet")


@SCRIPTS
def test_published_results(script: ModuleType) -> None:
    """Each cell has its result, which says how to get it again."""
    for name, arguments in script.cells().items():
        result = script.PUBLISHED.kept(name)
        assert KEYS <= set(result), name
        assert ("--bound" in arguments) == (result.get("fully_associative") is not None), name
        assert result["workload"] == arguments[0]
        assert {"release", "compiler", "series", "image"} <= set(result["kernel"])
        for word in arguments:
            if word.startswith("--set="):
                assert word.removeprefix("--set=") in result["command"]
                key, _, value = word.removeprefix("--set=").partition("=")
                assert result["words"][key] == value
            if word.startswith("--append="):
                assert word.removeprefix("--append=") in result["command"]
    assert {path.stem for path in script.PUBLISHED.directory.glob("*.json")} == set(script.cells())


@SCRIPTS
def test_published_tables(script: ModuleType) -> None:
    """The tables are what the script makes of the results today."""
    for path, text in script.pages().items():
        assert path.read_text() == text, f"{path.name}: run {script.__name__}.py tables"


@SCRIPTS
def test_published_can_fail(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """One changed number in a result changes the table."""
    whole = script.pages()
    kept = script.PUBLISHED.kept

    def altered(name: str) -> dict:
        result = json.loads(json.dumps(kept(name)))
        for label in result["labels"].values():
            label["stores"] += 10 * label["units"]
            for level in ("l1d", "llc"):
                label["store_misses"][level] += 10 * label["units"]
        return result
    monkeypatch.setattr(script.PUBLISHED, "kept", altered)
    for path, text in script.pages().items():
        assert text != whole[path]


def test_published_is_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of another kernel is no cell of the table."""
    before.PUBLISHED.check_one_kernel()
    kept = before.PUBLISHED.kept

    def altered(name: str) -> dict:
        result = kept(name)
        if name == "ring-64-10":
            result["kernel"]["series"] = "another"
        return result
    monkeypatch.setattr(before.PUBLISHED, "kept", altered)
    with pytest.raises(ValueError, match="ring-64-10 has another kernel"):
        before.pages()
