"""Books made of books: merged, and pruned."""

from collections.abc import Sequence
from dataclasses import replace

from fukayomi.book.apery import place_by_key
from fukayomi.book.book import Book
from fukayomi.book.moves import BookMove
from fukayomi.shogi import BLACK, Color, Move


def merge_books(books: Sequence[Book]) -> Book:
    """Merge books: all positions and moves, with their counts added.

    Of a move that several have, the deeper score counts; of two of the same depth, or without depths, the one of the
    later book, which is taken for the newer. A move with a score counts before one without.

    Different comments follow one another.

    Args:
        books: The books, the newest last.
    """
    merged = Book()
    for book in books:
        for key, moves in book.items():
            if key in merged:
                merged.put(key, _merged(merged[key], moves), min(merged.ply(key), book.ply(key)))
            else:
                merged.put(key, _merged((), moves), book.ply(key))
    for book in books:
        for place, text in book.comments.items():
            older = merged.comments.get(place, "")
            merged.comments[place] = older if text in older else f"{older}\n{text}".strip("\n")
        for number, moves in book.unplaced.items():
            merged.unplaced[number] = _merged(merged.unplaced.get(number, ()), moves)
    for key, moves in place_by_key(merged):
        merged.put(key, _merged(merged[key], moves))
    return merged


def prune_book(
    book: Book,
    *,
    least_count: int | None = None,
    least_score_cp: int | None = None,
    last_ply: int | None = None,
    side: Color | None = None,
) -> Book:
    """A book with a part of the moves. Positions that lose all are left out; positions below them stay.

    Args:
        book: The book.
        least_count: Least count of a move.
        least_score_cp: Least score of a move, for the side that plays it; moves without a score stay.
        last_ply: Last ply of a position, as the book has it. Unknown for `Book.unplaced`, which stay.
        side: Side to move; None: both. Unknown for `Book.unplaced`, which stay.
    """

    def kept(moves: Sequence[BookMove]) -> list[BookMove]:
        return [
            move
            for move in moves
            if (least_count is None or move.count >= least_count)
            and (least_score_cp is None or move.score_cp is None or move.score_cp >= least_score_cp)
        ]

    pruned = Book()
    turn = None if side is None else f" {'b' if side == BLACK else 'w'} "
    for key in book:
        ply = book.ply(key)
        if (turn is None or turn in key) and (last_ply is None or ply <= last_ply) and (moves := kept(book[key])):
            pruned.put(key, moves, ply)
            for place in ["", *(move.move.usi() for move in moves)]:
                if comment := book.comments.get((key, place)):
                    pruned.comments[key, place] = comment
    for number, moves in book.unplaced.items():
        if left := kept(moves):
            pruned.unplaced[number] = tuple(left)
    return pruned


def _merged(first: Sequence[BookMove], second: Sequence[BookMove]) -> tuple[BookMove, ...]:
    found: dict[Move, BookMove] = {}
    for move in first:
        found.setdefault(move.move, move)
    seen: set[Move] = set()
    for move in second:
        if move.move in seen:
            continue  # of a move that a book has twice the first counts, as when it is played from
        seen.add(move.move)
        other = found.get(move.move)
        found[move.move] = move if other is None else _one_of(other, move)
    return tuple(found.values())


def _one_of(older: BookMove, newer: BookMove) -> BookMove:
    def weight(move: BookMove) -> tuple[bool, int]:
        return move.score_cp is not None, move.depth or 0

    kept, other = (older, newer) if weight(older) > weight(newer) else (newer, older)
    ponder = other.ponder if kept.ponder is None else kept.ponder
    return replace(kept, ponder=ponder, count=older.count + newer.count)
