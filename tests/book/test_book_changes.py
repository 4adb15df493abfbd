"""Books merged, pruned and compared, and the book in memory itself."""

from pathlib import Path

import pytest

from fukayomi import BLACK, WHITE, Move, Position
from fukayomi._native import book_key
from fukayomi.book import Book, BookMove, compare_books, merge_books, position_key, prune_book, read_book
from fukayomi.errors import InvalidValueError

START = position_key(Position())
AFTER = position_key(Position.from_usi("startpos moves 7g7f"))


def move(text: str) -> BookMove:
    """A move of a .db: "7g7f 3c3d 50 30 12"; - is none."""
    name, ponder, score, depth, count = text.split()
    return BookMove(
        Move.from_usi(name),
        None if ponder == "-" else Move.from_usi(ponder),
        None if score == "-" else int(score),
        None if depth == "-" else int(depth),
        int(count),
    )


def book_of(**positions: str) -> Book:
    """A book with moves of the start and of the position after 7g7f."""
    book = Book()
    for name, moves in positions.items():
        book.put({"start": START, "after": AFTER}[name], map(move, moves.split(", ")), 1 + (name == "after"))
    return book


def test_a_book_maps_positions_to_moves() -> None:
    book = book_of(start="7g7f 3c3d 50 30 12, 2g2f - - - 0")
    assert list(book) == [START]
    assert book[START] == (move("7g7f 3c3d 50 30 12"), move("2g2f - - - 0"))
    assert (book.ply(START), book.move_count, AFTER in book, book.get(AFTER)) == (1, 2, False, None)
    assert book.find(Position()).moves == list(book[START])
    assert book.position(START) == Position()
    book.put(START, (), 7)
    book[START] = [BookMove(Move.from_usi("7g7f"), score_cp=1 << 40, depth=-(1 << 40), count=1 << 70)]
    assert (book.ply(START), book[START][0].score_cp, book[START][0].count) == (7, (1 << 31) - 1, (1 << 63) - 1)
    with pytest.raises(InvalidValueError, match="ply 0 of 'lnsg"):
        book.put(START, (), 0)
    del book[START]
    assert len(book) == 0
    with pytest.raises(KeyError):
        book.ply(START)


@pytest.mark.parametrize(
    ("older", "newer", "merged"),
    [
        ("7g7f 3c3d 50 30 12", "7g7f 8c8d 60 20 3", "7g7f 3c3d 50 30 15"),
        ("7g7f 3c3d 50 20 12", "7g7f 8c8d 60 30 3", "7g7f 8c8d 60 30 15"),
        ("7g7f 3c3d 50 20 12", "7g7f 8c8d 60 20 3", "7g7f 8c8d 60 20 15"),
        ("7g7f 3c3d 50 - 12", "7g7f - 60 - 3", "7g7f 3c3d 60 - 15"),
        ("7g7f 3c3d 50 - 12", "7g7f - - 40 3", "7g7f 3c3d 50 - 15"),
        ("7g7f - - - 1", "2g2f - - - 1", "7g7f - - - 1, 2g2f - - - 1"),
        ("7g7f - 1 1 1, 7g7f - 2 2 5", "7g7f - 3 1 1, 7g7f - 4 4 7", "7g7f - 3 1 2"),
    ],
)
def test_counts_are_added_and_the_deeper_or_newer_score_kept(older: str, newer: str, merged: str) -> None:
    assert merge_books([book_of(start=older), book_of(start=newer)]) == book_of(start=merged)


def test_merged_books_have_all_positions() -> None:
    both = merge_books([book_of(start="7g7f - - - 1"), book_of(after="3c3d - - - 2")])
    assert both == book_of(start="7g7f - - - 1", after="3c3d - - - 2")
    late = Book()
    late.put(START, [move("7g7f - - - 1")], 9)
    assert merge_books([late, book_of(start="7g7f - - - 1")]).ply(START) == 1


def test_comments_are_merged_and_pruned_with_their_moves() -> None:
    first, second = book_of(start="7g7f - - - 1"), book_of(start="7g7f - - - 1, 2g2f - - - 9")
    first.comments = {(START, ""): "one", (START, "7g7f"): "same"}
    second.comments = {(START, ""): "two", (START, "7g7f"): "same", (START, "2g2f"): "three"}
    merged = merge_books([first, second])
    assert merged.comments == {(START, ""): "one\ntwo", (START, "7g7f"): "same", (START, "2g2f"): "three"}
    assert prune_book(merged, least_count=5).comments == {(START, ""): "one\ntwo", (START, "2g2f"): "three"}


def test_moves_of_unknown_positions_find_the_position_of_another_book() -> None:
    book = Book()
    book.unplaced = {book_key(Position()): (move("7g7f - 1 - 4"),), 5: (move("2g2f - 1 - 4"),)}
    merged = merge_books([book, book_of(start="7g7f 3c3d 50 30 12"), book])
    assert dict(merged) == dict(book_of(start="7g7f 3c3d 50 30 20"))
    assert merged.unplaced == {5: (move("2g2f - 1 - 8"),)}


def test_a_book_merged_with_itself_has_twice_the_counts(shared_data: Path) -> None:
    book = read_book(shared_data / "books" / "yokofu_super_rapid-tera.db")
    assert merge_books([book]) == book
    twice = merge_books([book, book])
    assert {key: [(m.score_cp, m.count) for m in twice[key]] for key in twice} == {
        key: [(m.score_cp, 2 * m.count) for m in book[key]] for key in book
    }


def test_a_part_of_a_book() -> None:
    book = book_of(start="7g7f - 50 1 12, 2g2f - - 1 3, 1g1f - -200 1 3", after="3c3d - -40 1 5")
    book.unplaced = {5: (move("2g2f - -1 - 4"),)}
    assert prune_book(book) == book
    assert [m.move.usi() for m in prune_book(book, least_count=4)[START]] == ["7g7f"]
    assert [m.move.usi() for m in prune_book(book, least_score_cp=-100)[START]] == ["7g7f", "2g2f"]
    assert list(prune_book(book, last_ply=1)) == [START]
    assert list(prune_book(book, side=WHITE)) == [AFTER]
    assert list(prune_book(book, side=BLACK)) == [START]
    assert list(prune_book(book, least_score_cp=0)) == [START], "a position without moves is left out"
    assert prune_book(book, least_score_cp=0).unplaced == {}
    assert prune_book(book, side=WHITE, last_ply=1).unplaced == book.unplaced


def test_two_books_beside_each_other() -> None:
    first = book_of(start="7g7f - 50 1 12, 2g2f - 70 1 3", after="3c3d - - 1 5")
    second = book_of(start="7g7f - 40 1 1, 2g2f - 60 1 1, 1g1f - 5 1 1")
    found = compare_books(first, second)
    assert (found.positions, found.moves) == ((2, 1), (3, 3))
    assert (found.common_positions, found.common_moves, found.same_best, found.scored_moves) == (1, 2, 0, 2)
    assert found.score_difference_cp == 10
    assert found.rows() == [
        {"sfen": START, "first": "7g7f", "first_score_cp": 50, "first_count": 12, "second": "2g2f",
         "second_score_cp": 60, "second_count": 1},
    ]  # fmt: skip
    same = compare_books(first, first)
    assert (same.same_best, same.score_difference_cp, same.differences) == (2, 0, ())
    assert compare_books(first, Book()).score_difference_cp is None
