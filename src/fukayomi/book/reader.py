"""A book of any format: moves of a position, with the check of the rules, also of the same position turned round."""

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, Self

from fukayomi.book.apery import AperyBook
from fukayomi.book.choice import BookLimits, choose
from fukayomi.book.draws import DrawSearch
from fukayomi.book.kinds import BookKind, kind_of
from fukayomi.book.moves import BookMove, StoredMoves
from fukayomi.book.rotation import rotated_move, rotated_position
from fukayomi.book.stored import read_book
from fukayomi.book.yaneuraou import YaneuraouBook
from fukayomi.shogi import Position
from fukayomi.tabular import Tabular


class BookFile(Protocol):
    """A format of books, or a `Book` in memory."""

    def find(self, position: Position) -> StoredMoves:
        """The moves that the file has for a position."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


@dataclass(frozen=True, slots=True)
class BookEntry(Tabular):
    """Entry of a book for a position. As a table it has a row for each move."""

    moves: tuple[BookMove, ...] = ()
    """Its legal moves, in the order of the book."""
    problems: tuple[str, ...] = ()
    """Ignored parts: moves that are not legal, lines that cannot be read. Each names the file and the place."""

    def rows(self) -> list[dict[str, str | int | None]]:
        """One row per move; moves are in USI form."""
        return [
            {
                "move": move.move.usi(),
                "ponder": None if move.ponder is None else move.ponder.usi(),
                "score_cp": move.score_cp,
                "depth": move.depth,
                "count": move.count,
            }
            for move in self.moves
        ]


class BookReader:
    """An opening book (定跡) to play from: YaneuraOu's (`.db`, `.ybb`), Apery's (`book.bin`) or ShogiGUI's (`.sbk`).

    A `.db` and a `book.bin` are searched on disk, unless they are small or not sorted; the others are read into memory.
    Positions are found without their ply. One thread at a time may use a book.
    """

    def __init__(self, path: Path, file: BookFile) -> None:
        self.path = path
        """The file."""
        self._file = file

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open a book.

        Raises:
            BookError: The file is not a book, or a book of another format.
            OSError: The file cannot be read.
        """
        path = Path(path)
        match kind_of(path):
            case BookKind.DB:
                return cls(path, YaneuraouBook(path))
            case BookKind.BIN:
                return cls(path, AperyBook(path))
            case BookKind.YBB | BookKind.SBK:
                return cls(path, read_book(path))

    def look_up(self, position: Position, *, flipped: bool = True) -> BookEntry:
        """Look a position up.

        Args:
            position: The position; its ply and its past do not matter.
            flipped: If it is not found, look for the same position with the colours exchanged.

        Raises:
            OSError: The file cannot be read any more.
        """
        stored = self._file.find(position)
        if not stored.moves and flipped:
            other = self._file.find(rotated_position(position))
            stored.moves = [
                replace(move, move=rotated_move(move.move), ponder=move.ponder and rotated_move(move.ponder))
                for move in other.moves
            ]
            stored.problems += other.problems
        return self._checked(stored, position)

    def moves(self, position: Position, *, flipped: bool = True) -> tuple[BookMove, ...]:
        """The legal moves of a position in the order of the book; empty if the book does not have it."""
        return self.look_up(position, flipped=flipped).moves

    def choose(
        self,
        position: Position,
        limits: BookLimits | None = None,
        *,
        by: Literal["count", "score", "random", "even"] = "count",
        draw_cp: int | None = None,
        draw_depth: int = 0,
        source: random.Random | None = None,
        flipped: bool = True,
    ) -> BookMove | None:
        """Choose a move to play.

        Args:
            position: The position. Its past matters if `draw_cp` is given.
            limits: Which moves may be chosen; by default all.
            by: "count": the one played most often, of several the one with the best score. "score": the one with the
                best score. "random": at random in proportion to the counts. "even": at random with equal chances.
            draw_cp: Score of a repetition (千日手), in place of the book's: the fourth occurrence of a position, or a
                line of the book that leads back to one of its own positions. Perpetual check loses.
            draw_depth: With `draw_cp`: moves of the book that are followed after each move, at most. The score of a
                move is then the one to which both sides' best moves of the book lead. 0: only the move itself counts.
            source: Source of random numbers.
            flipped: As for `look_up`.

        Returns:
            The move; None if the book has none within the limits.
        """
        found = self.moves(position, flipped=flipped)
        scores = {move.move: move.score_cp or 0 for move in found}
        if draw_cp is not None:
            search = DrawSearch(lambda other: self.moves(other, flipped=flipped), position, draw_cp)
            scores = search.scores(found, draw_depth)
        return choose(found, position, limits or BookLimits(), by, scores, source or random.Random())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<BookReader {self.path}>"

    def _checked(self, stored: StoredMoves, position: Position) -> BookEntry:
        legal: list[BookMove] = []
        illegal: list[str] = []
        for move in stored.moves:
            if any(move.move == other.move for other in legal):
                continue  # the first counts
            if not position.is_legal(move.move):
                illegal.append(move.move.usi())
                continue
            if move.ponder is not None:
                after = position.copy()
                after.push(move.move)
                move = move if after.is_legal(move.ponder) else replace(move, ponder=None)
            legal.append(move)
        if illegal:
            stored.problems.append(f"{self.path}: not legal in {position.sfen()}: {' '.join(illegal)}")
        return BookEntry(tuple(legal), tuple(stored.problems))
