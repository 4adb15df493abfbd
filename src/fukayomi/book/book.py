"""A book in memory: positions, and the moves of each. It is what is made, changed and written; `BookReader` plays."""

import struct
from collections.abc import Iterable, Iterator, MutableMapping
from typing import Final

from fukayomi.book.moves import BookMove, StoredMoves
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import Move, Position
from fukayomi.tabular import counted

_PLY = struct.Struct("<H")
_MOVE = struct.Struct("<HHiiq")  # move, ponder (0: none), score, depth, count
_NONE: Final = -(1 << 31)
_LARGEST: Final = (1 << 31) - 1
_LARGEST_COUNT: Final = (1 << 63) - 1
_LARGEST_PLY: Final = (1 << 16) - 1
STEP: Final = 4096
"""Lines or positions between two reports of progress."""
MOST_PROBLEMS: Final = 1000
"""Problems of a book that are kept; more are counted."""


def position_key(position: Position) -> str:
    """The key of a position in a `Book`: its SFEN without the ply, "BOARD TURN HAND"."""
    return position.sfen().rsplit(" ", 1)[0]


class Book(MutableMapping[str, tuple[BookMove, ...]]):
    """An opening book (定跡) in memory: maps the key of a position to its moves.

        >>> from fukayomi import Move, Position
        >>> from fukayomi.book import BookMove, position_key
        >>> book = Book()
        >>> start = position_key(Position())
        >>> book[start] = [BookMove(Move.from_usi("7g7f"), score_cp=50, count=12)]
        >>> book[start][0].count, book.ply(start)
        (12, 1)

    A key is what `position_key` gives. Moves keep their order; nothing is checked against the rules (`check_book` does
    that). A position with four moves takes about 300 bytes.
    """

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}
        self.unplaced: dict[int, tuple[BookMove, ...]] = {}
        """Moves of an Apery book by its key, where the position of the key is not known. Only `.bin` can store them."""
        self.comments: dict[tuple[str, str], str] = {}
        """Comments by position and move (USI; "" for the position itself). `.db` stores them, and `.sbk` has some."""
        self.problems: list[str] = []
        """What could not be read, and what a file cannot store: each names the file and the place. The first ones."""
        self.problem_count = 0
        """Number of all problems."""
        self.is_damaged = False
        """True if a part of the file could not be read."""

    def __getitem__(self, key: str) -> tuple[BookMove, ...]:
        packed = self._entries[key]
        return tuple(_unpacked(packed, at) for at in range(_PLY.size, len(packed), _MOVE.size))

    def __setitem__(self, key: str, moves: Iterable[BookMove]) -> None:
        self.put(key, moves)

    def put(self, key: str, moves: Iterable[BookMove], ply: int | None = None) -> None:
        """Set the moves of a position.

        Args:
            key: Key of the position.
            moves: Its moves, in their order. Numbers too large for 32 bits (counts: 64) are cut.
            ply: Ply of the position, from 1 on; None: as before, or 1.

        Raises:
            InvalidValueError: The ply is not a number from 1 to 65535.
        """
        if ply is None:
            ply = self.ply(key) if key in self._entries else 1
        if not 1 <= ply <= _LARGEST_PLY:
            raise InvalidValueError(f"ply {ply} of {key!r} is not from 1 to {_LARGEST_PLY}")
        self._entries[key] = _PLY.pack(ply) + b"".join(map(_packed, moves))

    def ply(self, key: str) -> int:
        """Ply of a position, 1 for the start of a game: the least at which the book has it, where it says so.

        Raises:
            KeyError: The book does not have the position.
        """
        return _PLY.unpack_from(self._entries[key])[0]

    def position(self, key: str) -> Position:
        """The position of a key, with its ply if the book has it.

        Raises:
            InvalidSfenError: The key is not one of a position.
        """
        ply = self.ply(key) if key in self._entries else 1
        return Position.from_sfen(f"{key} {ply}", allow_missing_king=True)

    def find(self, position: Position) -> StoredMoves:
        """The moves for a position; none if the book does not have it."""
        return StoredMoves(list(self.get(position_key(position), ())))

    def close(self) -> None:
        """Do nothing: a book in memory holds no file. For what may hold either."""

    def note(self, problem: str, *, is_damage: bool = True) -> None:
        """Add a problem; no damage is what a book in memory just does not have, such as comments."""
        self.problem_count += 1
        self.is_damaged |= is_damage
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)

    @property
    def move_count(self) -> int:
        """Number of moves of all positions."""
        return sum((len(packed) - _PLY.size) // _MOVE.size for packed in self._entries.values())

    def __delitem__(self, key: str) -> None:
        del self._entries[key]

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Book):
            return NotImplemented
        mine, others = (self._entries, self.unplaced, self.comments), (other._entries, other.unplaced, other.comments)
        return mine == others

    def __repr__(self) -> str:
        return f"<Book of {counted(len(self), 'position')}>"


def best_first(moves: Iterable[BookMove]) -> list[BookMove]:
    """Moves as YaneuraOu's books have them: the most played first, of those the one with the best score."""
    return sorted(moves, key=lambda move: (-move.count, -(move.score_cp or 0)))


def _packed(move: BookMove) -> bytes:
    return _MOVE.pack(
        move.move.raw,
        0 if move.ponder is None else move.ponder.raw,
        _NONE if move.score_cp is None else max(-_LARGEST, min(_LARGEST, move.score_cp)),
        _NONE if move.depth is None else max(-_LARGEST, min(_LARGEST, move.depth)),
        max(-_LARGEST_COUNT, min(_LARGEST_COUNT, move.count)),
    )


def _unpacked(packed: bytes, at: int) -> BookMove:
    move, ponder, score, depth, count = _MOVE.unpack_from(packed, at)
    return BookMove(
        Move.from_raw(move),
        Move.from_raw(ponder) if ponder else None,
        None if score == _NONE else score,
        None if depth == _NONE else depth,
        count,
    )
