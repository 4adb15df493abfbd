"""Files of settings: what editors write, and what is not TOML."""

from pathlib import Path

import pytest

from fukayomi.settings.toml import read_toml


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_byte_order_mark_and_either_kind_of_line_end_are_read(start: bytes, end: bytes, tmp_path: Path):
    path = tmp_path / "run.toml"
    path.write_bytes(start + end.join([b"games = 8", b"[training]", 'note = "深読み"'.encode(), b""]))
    assert read_toml(path) == {"games": 8, "training": {"note": "深読み"}}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("games = 8\n".encode("utf-16"), r"not UTF-8, the encoding of TOML \(at line 1\)"),
        ('a = 1\nname = "深読み"\n'.encode("cp932"), r"not UTF-8, the encoding of TOML \(at line 2\)"),
        (b"games = \n", "Invalid value"),
        (b"games = " + b"1" * 5000, r"run\.toml: Exceeds the limit"),
        (b"games = " + b"[" * 5000, r"run\.toml: tables or lists are nested too deeply"),
    ],
)
def test_what_is_not_toml_is_refused_with_its_line(data: bytes, message: str, tmp_path: Path):
    path = tmp_path / "run.toml"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_toml(path)
