"""Records as users meet them: from text, to text, to files, as tables."""

from pathlib import Path

import pytest

from fukayomi import (
    IllegalMoveError,
    IllegalMoveInRecordError,
    InvalidMoveError,
    Move,
    Position,
    Record,
    RecordError,
    ShogiError,
    Termination,
    UnknownFormatError,
    read_record,
    read_records,
    write_record,
)

CSA = "V2.2\nN+Sente\nN-Gote\nPI\n+\n+7776FU\nT3\n'** 42 -3334FU\n-3334FU\nT5\n+8822UM\nT1\n-3122GI\nT2\n%TORYO\n"
USIS = ["7g7f", "3c3d", "8h2b+", "3a2b"]


def test_a_record_from_text_is_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "game.csa").write_text(CSA, encoding="utf-8")
    record = Record.from_text(CSA, name=str(tmp_path / "game.csa"))
    assert record == read_record(tmp_path / "game.csa") == read_record(CSA.encode(), name=record.name)
    assert (record.usi_moves(), record.termination) == (USIS, Termination.RESIGN)
    assert Record.from_text(record.csa()).usi_moves() == Record.from_text(record.kif()).usi_moves() == USIS
    assert record.usi() == f"startpos moves {' '.join(USIS)}"


@pytest.mark.parametrize("suffix", ["csa", "kif", "ki2", "jkf", "usi"])
def test_the_suffix_names_the_format(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"game.{suffix}"
    write_record(Record.from_text(CSA), path)
    assert read_record(path).usi_moves() == USIS
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_suffix_of_no_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"game\.txt: the suffix is not one of \.csa, \.kif, \.ki2, \.jkf, \.usi"):
        write_record(Record(), tmp_path / "game.txt")
    assert list(tmp_path.iterdir()) == []


def test_the_first_game_of_several() -> None:
    many = f"{CSA}/\n{CSA.replace('Sente', 'Other')}".encode()
    assert read_record(many).black_name == "Sente"
    assert [record.black_name for record in read_records(many)] == ["Sente", "Other"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("what", UnknownFormatError),
        (CSA.replace("+8822UM", "+8833UM"), IllegalMoveInRecordError),
        (CSA.replace("+8822UM", "+88"), RecordError),
    ],
)
def test_errors_are_record_errors(text: str, error: type[RecordError]) -> None:
    with pytest.raises(RecordError) as caught:
        Record.from_text(text, name="game")
    assert caught.type is error
    assert str(caught.value).startswith("game")


def test_the_table_of_the_moves() -> None:
    rows = Record.from_text(CSA).rows()
    assert [row["move"] for row in rows] == USIS
    assert [row["japanese"] for row in rows] == ["☗７六歩", "☖３四歩", "☗２二角成", "☖同銀"]
    assert [(row["ply"], row["score_cp"], row["seconds"]) for row in rows][:2] == [(1, 42, 3.0), (2, None, 5.0)]
    assert Record.from_text(CSA).to_polars().height == 4
    assert "☗２二角成" in str(Record.from_text(CSA))


def test_moves_in_japanese() -> None:
    position = Position()
    texts = ("７六歩", "☖３四歩", "▲2二角成", "同　銀", "５五角打")
    assert [position.push_japanese(text).usi() for text in texts] == [*USIS, "B*5e"]
    assert position.japanese(Move.from_usi("2b3c")) == "☖３三銀"
    with pytest.raises(IllegalMoveError):
        position.japanese(Move.from_usi("2b2a"))


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("７五歩", IllegalMoveError, "illegal move '７五歩'"),
        ("☖３四歩", InvalidMoveError, "invalid move"),  # Black is to move
        ("同歩", InvalidMoveError, "invalid move"),  # after no move
        ("7g7f", InvalidMoveError, "invalid move '7g7f'"),
        ("", InvalidMoveError, "invalid move ''"),
        ("５八金", InvalidMoveError, "ambiguous move '５八金': it may be 4i5h, 6i5h"),
    ],
)
def test_bad_moves_in_japanese(text: str, error: type[Exception], reason: str) -> None:
    position = Position()
    with pytest.raises(error, match=reason):
        position.push_japanese(text)
    assert position == Position()


def test_errors_of_records_are_those_of_shogi() -> None:
    for data in (b"PI\n+\n+7776XX\n", b"PI\n+\n+5554FU\n%TORYO\n", b"hello"):
        with pytest.raises(ShogiError):
            read_record(data)
