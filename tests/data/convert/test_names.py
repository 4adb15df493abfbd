"""Names of the files in a folder of converted records."""

from pathlib import Path, PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.data.convert.writers import RecordNames


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("in/a.csa", "a.kif"),
        ("in/2025/01/a.csa", "2025/01/a.kif"),
        ("in/a.csa.gz", "a.kif"),
        ("in/竜王戦 第1局.ki2", "竜王戦 第1局.kif"),
        ("in/no-suffix", "no-suffix.kif"),
        ("in/version-1.2", "version-1.2.kif"),
        ("in/many.csa#3", "many-3.kif"),
        ("in/games.zip/2025/a.csa", "games.zip/2025/a.kif"),
        ("games.zip/2025/a.csa", "2025/a.kif"),
        ("single.csa", "single.kif"),
        ("elsewhere/b.csa", "b.kif"),
        ("in/a.kif/b.csa", "a.kif_/b.kif"),
        ("games.zip/../../etc/passwd", "etc/passwd.kif"),
        ("games.zip//etc/passwd", "etc/passwd.kif"),
        ("games.zip/..", "000007.kif"),
        ("", "000007.kif"),
    ],
)
def test_names(name: str, path: str) -> None:
    names = RecordNames("kif", [Path("in"), Path("games.zip"), Path("single.csa")])
    assert names(name, 7) == PurePath(path)


def test_no_name_is_given_twice() -> None:
    names = RecordNames("kif", [Path("in")])
    found = [str(names(name, 1)) for name in ("in/a.csa", "in/a.jkf", "in/A.csa", "in/a.csa#2", "in/a-2.csa", "in/a")]
    assert found == ["a.kif", "a-2.kif", "A-3.kif", "a-2-2.kif", "a-2-3.kif", "a-4.kif"]


@given(st.lists(st.text(max_size=300), max_size=6))
def test_no_name_leaves_the_folder(given_names: list[str]) -> None:
    names = RecordNames("kif", [Path("in")])
    found = [names(f"in/{name}", 1) for name in given_names]
    for path in found:
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert all(len(part.encode()) < 255 for part in path.parts)
        assert path.suffix == ".kif"
    assert len(set(found)) == len(found)
