"""A book whose moves are added by hand, one at a time, and taken back."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fukayomi._native import book_key
from fukayomi.book.book import Book, position_key
from fukayomi.book.kinds import kind_of, kind_to_write
from fukayomi.book.moves import BookError, BookMove
from fukayomi.book.rotation import rotated_move, rotated_position
from fukayomi.book.stored import read_book, write_book
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import Move, Position

LARGEST_BYTES = 100_000_000
"""Of a book that is written again for each move."""
MOST_STEPS = 1000
"""Moves that can be taken back."""


@dataclass(frozen=True, slots=True)
class AddedMove:
    """A move that was added to a book."""

    number: int
    """By which it is taken back."""
    move: BookMove
    """The move as the book has it now; its count is one more than before."""
    is_new: bool
    """True if the book did not have it."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What was changed: the moves of a position, or of the same with the colours exchanged."""

    position: Position
    before: tuple[BookMove, ...] | None
    after: tuple[BookMove, ...]


class BookEditor:
    """Adds moves to a book's file, `.db` or `.bin`. Each time the file is replaced as a whole. Any thread may use it.

        >>> import tempfile
        >>> from fukayomi import Move, Position
        >>> editor = BookEditor(Path(tempfile.mkdtemp()) / "book.db")
        >>> added = editor.add(Position(), Move.from_usi("7g7f"))
        >>> editor.add(Position(), Move.from_usi("7g7f")).move.count
        2
        >>> editor.take_back(2)
        >>> read_book(editor.path).move_count
        1

    Args:
        path: The file; it is made with the first move, if there is none.

    Raises:
        BookError: The name, or the content of the file, is not of a book that is written.
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = path = Path(path)
        """The file."""
        self._lock = threading.Lock()
        self._steps: dict[int, _Step] = {}
        self._count = 0
        kind = kind_to_write(path)
        if path.exists() and (found := kind_of(path)) is not kind:
            raise BookError(
                f"{path} holds a book in the format of .{found}; fukayomi book convert makes a .{kind} of it"
            )

    def add(self, position: Position, move: Move) -> AddedMove:
        """Add a move: its count grows by one, or it comes last, with the count 1 and the lowest score of the position's
        moves, if they have scores: a move without one counts as 0, which may be more than they have.

        It goes where the book has the position, or has it with the colours exchanged, as players of the book find it.

        Raises:
            ValueError: The move is not legal.
            BookError: The book is damaged, or too large.
            OSError: The file cannot be read or written.
        """
        if not position.is_legal(move):
            raise InvalidValueError(f"{move} is not legal in {position.sfen()}")
        with self._lock:
            book = self._read()
            place, is_rotated = _place(book, position)
            before = _moves(book, place)
            own = rotated_move(move) if is_rotated else move
            known = next((each for each in before or () if each.move == own), None)
            if known is None:
                scores = [each.score_cp for each in before or () if each.score_cp is not None]
                added = BookMove(own, score_cp=min(scores, default=None))
            else:
                added = replace(known, count=known.count + 1)
            after = tuple(added if each is known else each for each in before or ())
            after = (*after, added) if known is None else after
            _put(book, place, after, position.ply)
            write_book(book, self.path)
            self._count += 1
            self._steps[self._count] = _Step(position.copy(), before, after)
            self._steps.pop(self._count - MOST_STEPS, None)
            return AddedMove(self._count, replace(added, move=move), known is None)

    def take_back(self, number: int) -> None:
        """Take a move back that was added: the position has what it had before.

        Raises:
            BookError: There is no such move, the position was changed since, or the book is damaged.
            OSError: The file cannot be read or written.
        """
        with self._lock:
            step = self._steps.get(number)
            book = self._read()
            place = None if step is None else _place(book, step.position)[0]
            if step is None or place is None or _counts(_moves(book, place)) != _counts(step.after):
                raise BookError(f"{self.path}: the move cannot be taken back: the book was changed since")
            if step.before is None:
                _remove(book, place)
            else:
                _put(book, place, step.before, 1)
            if book or book.unplaced:
                write_book(book, self.path)
            else:
                self.path.unlink()  # as it was: a file without a position is no book
            del self._steps[number]

    def _read(self) -> Book:
        """The book; an empty one if there is no file."""
        if not self.path.exists():
            return Book()
        if (size := self.path.stat().st_size) > LARGEST_BYTES:
            raise BookError(
                f"{self.path} is too large to be changed move by move ({size >> 20} MiB): collect moves in a book of "
                "their own, and add them with fukayomi book merge"
            )
        book = read_book(self.path)
        if book.is_damaged:
            raise BookError(
                f"{book.problems[0]}; nothing was changed: fukayomi book convert makes a book without what is damaged"
            )
        return book


def _place(book: Book, position: Position) -> tuple[str | int, bool]:
    """Where the book has a position, or would have it: by its key, or by its number where that is all there is.

    The second value says whether it is there with the colours exchanged.
    """
    for is_rotated, each in ((False, position), (True, rotated_position(position))):
        if (key := position_key(each)) in book:
            return key, is_rotated
        if (number := book_key(each)) in book.unplaced:
            return number, is_rotated
    return position_key(position), False


def _moves(book: Book, place: str | int) -> tuple[BookMove, ...] | None:
    return book.get(place) if isinstance(place, str) else book.unplaced.get(place)


def _counts(moves: Sequence[BookMove] | None) -> dict[Move, int]:
    """The counts of moves: what all formats store."""
    return {move.move: move.count for move in moves or ()}


def _put(book: Book, place: str | int, moves: Sequence[BookMove], ply: int) -> None:
    if isinstance(place, int):
        book.unplaced[place] = tuple(moves)
    else:
        book.put(place, moves, None if place in book else max(1, min(ply, 65_535)))


def _remove(book: Book, place: str | int) -> None:
    if isinstance(place, int):
        del book.unplaced[place]
    else:
        del book[place]
