# SPDX-License-Identifier: GPL-2.0
"""What keeps verdicts: keys, files, FRESH=1."""

from pathlib import Path

import pytest

from tools.proofs import Proofs, contents, key


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
