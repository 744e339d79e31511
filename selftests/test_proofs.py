# SPDX-License-Identifier: GPL-2.0
"""What keeps verdicts: keys, files, FRESH=1."""

import json
import subprocess
from pathlib import Path

import pytest

from selftests.proofs import Proofs, cache_directory, contents, key


@pytest.fixture(name="proofs")
def fixture_proofs(tmp_path: Path) -> Proofs:
    return Proofs("kind", tmp_path, fresh=False)


def test_proofs_key(tmp_path: Path) -> None:
    """A key is of contents and names, not of paths or of the order in which they are given."""
    for name, text in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / name).write_text(text)
    first = key(file=tmp_path / "a", words=["x", 1])
    assert first == key(words=["x", 1], file=tmp_path / "b")
    others = {
        key(file=tmp_path / "c", words=["x", 1]),
        key(file=tmp_path / "none", words=["x", 1]),
        key(file=tmp_path / "a", words=["x1"]),
        key(other=tmp_path / "a", words=["x", 1]),
    }
    assert first not in others and len(others) == 4
    with pytest.raises(TypeError):
        key(object=object())
    with pytest.raises(OSError):
        key(file=tmp_path)
    assert list(contents(tmp_path, "[ab]", "none*")) == ["a", "b"]


def test_proofs_lookup(proofs: Proofs) -> None:
    assert proofs.lookup("one") is None
    proofs.store("one", {"line": "0 differ"})
    assert proofs.lookup("one") == {"line": "0 differ"} and proofs.lookup("two") is None
    assert sorted(path.name for path in proofs.directory.iterdir()) == [".pruned", "one.json"]
    (proofs.directory / "one.json").write_text('{"line": "0 di')
    assert proofs.lookup("one") is None


def test_proofs_fresh(proofs: Proofs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FRESH=1 ignores what others have stored, and stores anew."""
    proofs.store("one", 1)
    for value, expected in (("1", None), ("0", 1), ("", 1)):
        monkeypatch.setenv("FRESH", value)
        assert Proofs("kind", tmp_path).lookup("one") == expected
    fresh = Proofs("kind", tmp_path, fresh=True)
    fresh.store("one", 2)
    assert fresh.lookup("one") == 2 and proofs.lookup("one") == 2


def test_proofs_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the verdicts are: as scripts/lib.sh has it."""
    for name in ("CF_CACHE", "CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / ".cache/cache-footprint"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg/cache-footprint"
    monkeypatch.setenv("CACHE", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"
    assert Proofs("kind").directory == tmp_path / "own/proofs/kind"


@pytest.mark.parametrize("line, row", [
    ("0 differ", {"status": "pass"}),
    ("0 differ (cached)", {"status": "pass", "cached": True}),
    ("nothing (cached)", {"status": "skip"}),
])
def test_proofs_in_results(tmp_path: Path, line: str, row: dict) -> None:
    """results_file.py marks what was proven before, and leaves the mark out otherwise."""
    script = Path(__file__).resolve().parent / "results_file.py"
    file = tmp_path / "row.json"
    subprocess.run([script, "part/test", "nothing", file, "echo", line], check=True)
    (found,) = json.loads(file.read_text())
    assert found == {"id": "part/test", "reason": line, "seconds": found["seconds"], **row}
