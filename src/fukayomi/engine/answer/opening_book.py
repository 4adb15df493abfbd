"""The opening book (定跡) that the options name, asked before each search."""

import random
from dataclasses import dataclass, replace
from pathlib import Path

from fukayomi.book import Book, BookError, BookMove
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import Position
from fukayomi.usi.text import shorten

NO_BOOK = ("", "no_book")
"""Values of Book_File that name none; "no_book" is YaneuraOu's."""


@dataclass(frozen=True, slots=True)
class Found:
    """Result of looking up a position in the book."""

    move: BookMove | None = None
    """The move to play, with an answer to expect if the book has one."""
    problems: tuple[str, ...] = ()
    """Problems of the book there."""


class OpeningBook:
    """Keeps the book open that the options name. One thread at a time may use it."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._book: Book | None = None

    def needs_opening(self, settings: UsiSettings) -> bool:
        """True if the options name another book than the one that is open."""
        return _path(settings) != self._path

    def open(self, settings: UsiSettings) -> str | None:
        """Open the book that the options name, if any. This may take seconds, if it is large and not sorted.

        Returns:
            Why it cannot be used.
        """
        self.close()
        self._path = _path(settings)
        if self._path is None:
            return None
        try:
            self._book = Book.open(self._path)
        except BookError as error:
            return f"no book: {error}"
        except (OSError, ValueError) as error:  # ValueError: a name with a NUL
            reason = getattr(error, "strerror", None) or error
            return f"no book: cannot read {shorten(str(self._path.absolute()))}: {reason}"
        return None

    def close(self) -> None:
        """Close the book."""
        if self._book is not None:
            self._book.close()
        self._path, self._book = None, None

    def find(self, position: Position, settings: UsiSettings, source: random.Random) -> Found:
        """Choose a move of the book, as the options say.

        Args:
            position: The position with its past.
            settings: The options.
            source: Source of random numbers.
        """
        if self._book is None:
            return Found()
        if settings.book_ignore_rate and source.random() * 100 < settings.book_ignore_rate:
            return Found()
        try:
            problems = self._book.look_up(position, flipped=settings.flipped_book).problems
            move = self._choose(self._book, position, settings, source)
            if move is not None and move.ponder is None:
                after = position.copy()
                after.push(move.move)
                reply = self._choose(self._book, after, settings, source)
                move = move if reply is None else replace(move, ponder=reply.move)
        except OSError as error:
            return Found(problems=(f"cannot read {self._path}: {error.strerror or error}",))
        return Found(move, problems)

    @staticmethod
    def _choose(book: Book, position: Position, settings: UsiSettings, source: random.Random) -> BookMove | None:
        return book.choose(
            position,
            settings.book_limits(),
            by=settings.book_choice,
            draw_cp=settings.draw_cp(position.turn) if settings.book_consider_draw else None,
            draw_depth=settings.book_consider_draw_depth,
            source=source,
            flipped=settings.flipped_book,
        )


def _path(settings: UsiSettings) -> Path | None:
    """The file that the options name; None if no book is to be used."""
    if not settings.own_book or settings.book_file in NO_BOOK:
        return None
    try:
        return Path(settings.book_dir, settings.book_file).expanduser()
    except RuntimeError:  # no such user
        return Path(settings.book_dir, settings.book_file)
