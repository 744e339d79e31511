# SPDX-License-Identifier: GPL-2.0
"""What keeps verdicts: keys, files, FRESH=1."""

from pathlib import Path

import pytest

from tools.verdicts import Verdicts, contents, key


@pytest.fixture(name="verdicts")
def fixture_verdicts(tmp_path: Path) -> Verdicts:
    return Verdicts("kind", tmp_path, fresh=False)


def test_verdicts_key(tmp_path: Path) -> None:
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


def test_verdicts_lookup(verdicts: Verdicts) -> None:
    assert verdicts.lookup("one") is None
    verdicts.store("one", {"line": "0 differ"})
    assert verdicts.lookup("one") == {"line": "0 differ"} and verdicts.lookup("two") is None
    assert sorted(path.name for path in verdicts.directory.iterdir()) == [".pruned", "one.json"]
    (verdicts.directory / "one.json").write_text('{"line": "0 di')
    assert verdicts.lookup("one") is None


def test_verdicts_fresh(verdicts: Verdicts, tmp_path: Path,
                        monkeypatch: pytest.MonkeyPatch) -> None:
    """FRESH=1 ignores what others have stored, and stores anew."""
    verdicts.store("one", 1)
    for value, expected in (("1", None), ("0", 1), ("", 1)):
        monkeypatch.setenv("FRESH", value)
        assert Verdicts("kind", tmp_path).lookup("one") == expected
    fresh = Verdicts("kind", tmp_path, fresh=True)
    fresh.store("one", 2)
    assert fresh.lookup("one") == 2 and verdicts.lookup("one") == 2
