"""A finished game as the statistics see it, wherever it comes from: a match's database, CSA or KIF files, PGN."""

from dataclasses import dataclass

from fukayomi.shogi import START_SFEN, Move
from fukayomi.shogi.record import Result, Termination


@dataclass(frozen=True, slots=True)
class Game:
    """Who played whom and how it ended; with the moves, where the source has them."""

    black: str
    white: str
    result: Result
    termination: Termination = Termination.NONE
    name: str = ""
    """Where it comes from: file or archive member, or the number of the game in its match."""
    initial_sfen: str = START_SFEN
    moves: tuple[Move, ...] | None = None
    """None where the source has results only, as PGN does."""
    black_rating: float | None = None
    white_rating: float | None = None
    date: str = ""
    """As ``2026-01-03``, or empty."""
    pair: int | None = None
    """The two games of an opening with swapped colours have the same number; None outside matches."""

    @property
    def year(self) -> int | None:
        """The year of the date."""
        return int(self.date[:4]) if self.date[:4].isdigit() else None
