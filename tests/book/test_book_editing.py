"""Moves that are added to a book by hand, and taken back."""

import random
from pathlib import Path

import pytest

from fukayomi.book import Book, BookEditor, BookError, BookMove, BookReader, position_key, read_book, write_book
from fukayomi.book import editing as editing_module
from fukayomi.shogi import Move, Position

START = position_key(Position())


def usi(*moves: str) -> list[Move]:
    return [Move.from_usi(move) for move in moves]


@pytest.mark.parametrize("suffix", ["db", "bin"])
def test_moves_are_added_and_taken_back_in_any_order(tmp_path: Path, suffix: str) -> None:
    """Beside a plain table of counts; at the end the file is as it was."""
    path, rng = tmp_path / f"book.{suffix}", random.Random(suffix)
    book = Book()
    book[START] = [BookMove(move, score_cp=10, count=3) for move in usi("7g7f", "2g2f")]
    write_book(book, path)
    before = path.read_bytes()
    editor, numbers, expected = BookEditor(path), list[int](), {("", "7g7f"): 3, ("", "2g2f"): 3}
    for _ in range(30):
        line = rng.choice(["", "7g7f", "7g7f 3c3d", "1g1f 9c9d 9g9f"])  # the last one is far from the book's lines
        position = Position(f"startpos moves {line}") if line else Position()
        move = rng.choice(list(position.legal_moves)[:3] + (usi("7g7f") if not line else []))
        added = editor.add(position, move)
        assert added.is_new == ((line, move.usi()) not in expected)
        expected[line, move.usi()] = expected.get((line, move.usi()), 0) + 1
        assert added.move.count == expected[line, move.usi()]
        numbers.append(added.number)
    with BookReader.open(path) as reader:
        for (line, move), count in expected.items():
            found = reader.moves(Position(f"startpos moves {line}") if line else Position())
            assert {each.move.usi(): each.count for each in found}[move] == count
    for number in reversed(numbers):
        editor.take_back(number)
    assert path.read_bytes() == before


def test_a_position_with_the_colours_exchanged_is_the_same(tmp_path: Path) -> None:
    """Players of the book find it there; a second entry would hide the first."""
    path = tmp_path / "book.db"
    BookEditor(path).add(Position("startpos moves 7g7f"), Move.from_usi("3c3d"))
    black = Position.from_sfen("lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 2")
    added = BookEditor(path).add(black, Move.from_usi("7g7f"))
    assert (added.is_new, added.move.count, added.move.move.usi()) == (False, 2, "7g7f")
    assert len(read_book(path)) == 1


def test_the_first_move_makes_the_file_and_taking_it_back_removes_it(tmp_path: Path) -> None:
    editor = BookEditor(tmp_path / "new.db")
    number = editor.add(Position(), Move.from_usi("7g7f")).number
    assert read_book(editor.path)[START] == (BookMove(Move.from_usi("7g7f")),)
    editor.take_back(number)
    assert not editor.path.exists()


def test_what_others_changed_stays(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    one, other = BookEditor(path), BookEditor(path)
    number = one.add(Position(), Move.from_usi("7g7f")).number
    other.add(Position(), Move.from_usi("2g2f"))
    with pytest.raises(BookError, match=r"book\.db: the move cannot be taken back: the book was changed since"):
        one.take_back(number)
    assert [move.move.usi() for move in read_book(path)[START]] == ["7g7f", "2g2f"]
    with pytest.raises(BookError, match="cannot be taken back"):
        one.take_back(99)


def test_comments_and_scores_stay(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text(f"#YANEURAOU-DB2016 1.00\nsfen {START} 1\n#the start\n7g7f 3c3d 50 9 4\n#good\n")
    BookEditor(path).add(Position(), Move.from_usi("7g7f"))
    assert path.read_text() == f"#YANEURAOU-DB2016 1.00\nsfen {START} 1\n#the start\n7g7f 3c3d 50 9 5\n#good\n"


def test_a_new_move_has_the_lowest_score(tmp_path: Path) -> None:
    """A move without a score counts as 0, and would be better than those of the side that stands worse."""
    path = tmp_path / "book.db"
    path.write_text(f"#YANEURAOU-DB2016 1.00\nsfen {START} 1\n7g7f none -50 9 1\n2g2f none -90 9 1\n")
    added = BookEditor(path).add(Position(), Move.from_usi("1g1f"))
    assert (added.move.score_cp, added.move.count, added.is_new) == (-90, 1, True)
    assert [move.move.usi() for move in read_book(path)[START]] == ["7g7f", "2g2f", "1g1f"]


def test_books_that_cannot_be_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BookError, match=r"is named \.db \(YaneuraOu\) or \.bin"):
        BookEditor(tmp_path / "book.ybb")
    text = tmp_path / "text.bin"
    text.write_text(f"sfen {START} 1\n7g7f none 0 0 1\n")
    with pytest.raises(
        BookError, match=r"holds a book in the format of \.db; fukayomi book convert makes a \.bin of it"
    ):
        BookEditor(text)
    damaged = tmp_path / "damaged.db"
    damaged.write_text(f"sfen {START} 1\n7g7f none 0 0 1\nzzzz none 0 0 1\n")
    before = damaged.read_bytes()
    with pytest.raises(BookError, match=r"damaged\.db, line 3.*nothing was changed"):
        BookEditor(damaged).add(Position(), Move.from_usi("7g7f"))
    assert damaged.read_bytes() == before
    with pytest.raises(ValueError, match="7g7e is not legal"):
        BookEditor(tmp_path / "new.db").add(Position(), Move.from_usi("7g7e"))
    monkeypatch.setattr(editing_module, "LARGEST_BYTES", 10)
    with pytest.raises(BookError, match="too large to be changed move by move"):
        BookEditor(tmp_path / "damaged.db").add(Position(), Move.from_usi("7g7f"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.db", "text.bin"]
