"""`fukayomi book show`: the moves of a position as a table and as JSON, positions in three forms, errors."""

import json
from functools import partial
from pathlib import Path

import command_runs
import pytest

from fukayomi import Position

run = partial(command_runs.invoke, "book", "show")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    after = Position.from_usi("startpos moves 7g7f 3c3d").sfen()
    path = tmp_path / "book.db"
    path.write_text(f"#YANEURAOU-DB2016 1.00\nsfen {after}\n2g2f 4c4d 70 25 3\n8h2b+ none none none 1\n7g7f\n")
    return path


def test_the_moves_of_a_position(book: Path) -> None:
    sfen = Position.from_usi("startpos moves 7g7f").sfen()
    for words in (
        ("7g7f", "3c3d"),
        ("7g7f 3c3d",),
        ("startpos", "moves", "7g7f", "3c3d"),
        ("sfen", sfen, "moves", "3c3d"),
        ("position", "startpos", "moves", "7g7f", "3c3d"),
        ("position startpos moves 7g7f 3c3d",),
        (Position.from_usi("startpos moves 7g7f 3c3d").sfen(),),
    ):
        result = run(book, *words)
        assert [line.split() for line in result.stdout.splitlines()] == [
            ["move", "ponder", "score_cp", "depth", "count"], ["2g2f", "4c4d", "70", "25", "3"], ["8h2b+", "1"],
        ]  # fmt: skip
        assert (
            result.stderr
            == f"skipped {book}: not legal in {Position.from_usi('startpos moves 7g7f 3c3d').sfen()}: 7g7f\n"
        )
    figures = json.loads(run(book, "7g7f", "3c3d", "--json").stdout)
    assert figures["sfen"].endswith(" 3")
    assert figures["moves"][0] == {"move": "2g2f", "ponder": "4c4d", "score_cp": 70, "depth": 25, "count": 3}
    assert len(figures["problems"]) == 1


def test_a_position_that_is_not_in_the_book(book: Path) -> None:
    assert run(book).stdout == "the book does not have this position\n"
    assert json.loads(run(book, "--json").stdout)["moves"] == []


def test_errors(book: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("this is no book")
    for words, code, message in (
        ((book, "7g7e"), 2, "the pawn cannot reach 7e"),
        ((book, "nonsense"), 2, "nonsense"),
        ((book, ""), 2, "it is empty: give moves or a position"),
        ((book, " "), 2, "it is empty: give moves or a position"),
        ((tmp_path / "none.db",), 1, "none.db: No such file or directory"),
        ((text,), 1, "is neither a book of YaneuraOu"),
    ):
        result = run(*words)
        assert result.exit_code == code
        assert message in " ".join(result.stderr.replace("│", " ").split())
