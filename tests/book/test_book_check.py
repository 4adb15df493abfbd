"""The check of a book, on made faults and on real books."""

from pathlib import Path

from fukayomi import Move, Position
from fukayomi.book import Book, BookFaultKind, BookMove, check_book, position_key, read_book
from fukayomi.book.rotation import rotated_move, rotated_position


def book_of(lines: dict[str, str]) -> Book:
    """A book of moves with scores, "MOVE SCORE, ...", by the moves that lead to the position."""
    book = Book()
    for moves, entry in lines.items():
        words = [one.split() for one in entry.split(", ")]
        found = [BookMove(Move.from_usi(word[0]), score_cp=int(word[1]) if len(word) > 1 else None) for word in words]
        book[position_key(Position.from_usi(f"startpos moves {moves}" if moves else "startpos"))] = found
    return book


def faults_of(book: Book, tolerance_cp: int = 100) -> list[tuple[str, str | None]]:
    return [(str(fault.kind), fault.move) for fault in check_book(book, tolerance_cp=tolerance_cp).faults]


def test_a_sound_book() -> None:
    found = check_book(book_of({"": "7g7f 30, 2g2f 20", "7g7f": "3c3d -25", "7g7f 3c3d": "2g2f"}))
    assert (found.faults, found.is_sound, found.positions, found.moves) == ((), True, 3, 4)


def test_moves_that_are_not_legal_and_moves_twice() -> None:
    book = book_of({"": "7g7e, 7g7f, 7g7f"})
    assert faults_of(book) == [("illegal", "7g7e"), ("twice", "7g7f")]
    assert not check_book(book).is_sound
    book["nonsense"] = [BookMove(Move.from_usi("7g7f"))]
    assert faults_of(book)[0] == ("position", None)


def test_a_position_that_no_line_leads_to() -> None:
    found = check_book(book_of({"": "7g7f", "7g7f 3c3d 2g2f 8c8d": "2f2e"}))
    assert [fault.kind for fault in found.faults] == [BookFaultKind.ORPHAN]
    assert found.is_sound
    far = Position.from_usi("startpos moves 7g7f 3c3d 2g2f 8c8d")
    assert check_book(book_of({"7g7f 3c3d 2g2f 8c8d": "2f2e"}), starts=[far]).faults == ()


def test_the_opponent_may_leave_the_book() -> None:
    assert faults_of(book_of({"": "7g7f", "7g7f 9c9d": "2g2f"})) == [], "a book for Black"
    assert faults_of(book_of({"7g7f": "3c3d", "1g1f": "3c3d"})) == [], "a book for White"
    assert faults_of(book_of({"": "7g7f", "1g1f": "3c3d"})) == []


def test_a_position_turned_round_goes_on() -> None:
    book = book_of({"": "7g7f 30"})
    after = Position.from_usi("startpos moves 7g7f")
    turned = rotated_position(after)
    book[position_key(turned)] = [BookMove(rotated_move(Move.from_usi("3c3d")), score_cp=-300)]
    book[position_key(Position.from_usi("startpos moves 7g7f 3c3d"))] = [BookMove(Move.from_usi("2g2f"))]
    assert faults_of(book) == [("score", "7g7f")]
    assert faults_of(book, tolerance_cp=270) == []


def test_circles() -> None:
    lines = {"": "5i5h", "5i5h": "5a5b", "5i5h 5a5b": "5h5i, 7g7f", "5i5h 5a5b 5h5i": "5b5a"}
    found = check_book(book_of(lines))
    (fault,) = found.faults
    assert (fault.kind, fault.key) == (BookFaultKind.CIRCLE, position_key(Position()))
    assert "4 positions" in fault.text
    assert faults_of(book_of({**lines, "5i5h 5a5b 5h5i": "3c3d"})) == []


def test_a_long_line_needs_no_stack() -> None:
    position, book = Position(), Book()
    for n in range(3000):
        move = position.legal_moves[n * 7 % position.legal_move_count]
        book[position_key(position)] = [BookMove(move)]
        position.push(move)
        if position.is_mated() or position.legal_move_count == 0:
            break
    assert check_book(book).is_sound


def test_scores_that_what_follows_contradicts() -> None:
    book = book_of({"": "7g7f 30, 2g2f 500", "7g7f": "3c3d -30, 8c8d -200", "2g2f": "8c8d -30"})
    found = check_book(book)
    assert [(fault.kind, fault.move) for fault in found.faults] == [(BookFaultKind.SCORE, "2g2f")]
    assert found.counts == {"score": 1}
    assert found.rows()[0]["text"] == "2g2f has the score 500, but the best answer in the book -30"


def test_a_book_of_minimax_contradicts_itself_only_at_circles(shared_data: Path) -> None:
    tera = check_book(read_book(shared_data / "books" / "yokofu_super_rapid-tera.db"), tolerance_cp=1)
    assert tera.is_sound
    assert tera.counts["circle"] == 4
    assert tera.counts["score"] < 20
    assert "orphan" not in tera.counts
