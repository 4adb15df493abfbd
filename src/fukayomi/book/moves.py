"""The moves of a book."""

from dataclasses import dataclass, field

from fukayomi.errors import InvalidValueError
from fukayomi.shogi import Move


class BookError(InvalidValueError):
    """A file is not a book, or not one that can be searched. The message names the file, the place and a remedy."""

    __module__ = "fukayomi.book"


@dataclass(frozen=True, slots=True)
class BookMove:
    """A move of a book."""

    move: Move
    """The move."""
    ponder: Move | None = None
    """The expected answer."""
    score_cp: int | None = None
    """Centipawns from the side to move; beyond +-30000 a mate, mostly."""
    depth: int | None = None
    """Depth of the search that gave the score, plies."""
    count: int = 1
    """Number of times that the move was played. Some books store something else here, such as a version."""


@dataclass(slots=True)
class StoredMoves:
    """Moves that a file has for a position, unchecked, and what cannot be read."""

    moves: list[BookMove] = field(default_factory=list[BookMove])
    problems: list[str] = field(default_factory=list[str])
