"""Who follows games against others."""

from dataclasses import dataclass
from pathlib import Path

from fukayomi.listener import Listener
from fukayomi.shogi import Color
from fukayomi.shogi.record import Record, RecordedMove, Result, winner_is


@dataclass(frozen=True, slots=True)
class OnlineGame:
    """A game against somebody else, or between two clients of a server."""

    game_id: str
    """The server's name for it."""
    names: dict[Color, str]
    """The players."""
    color: Color | None
    """Our side; None for a server."""
    record: Record
    """Grows with the game; complete when the game has ended."""
    path: Path | None = None
    """The CSA file of a game that has ended; the KIF file lies beside it. None: it was not saved."""

    @property
    def outcome(self) -> str:
        """``win``, ``loss``, ``draw`` or ``none`` for our side; ``none`` for a server."""
        result = self.record.result
        if result is Result.DRAW:
            return "draw"
        if result is Result.UNKNOWN or self.color is None:
            return "none"
        return "win" if result == winner_is(self.color) else "loss"


@dataclass(slots=True)
class Score:
    """Results of the games of a client."""

    wins: int = 0
    losses: int = 0
    draws: int = 0
    unfinished: int = 0
    """Games without a result: broken off, or cut off by a connection that broke."""

    @property
    def games(self) -> int:
        """All games."""
        return self.wins + self.losses + self.draws + self.unfinished

    def add(self, game: OnlineGame) -> None:
        """Count a game that has ended."""
        self.wins += game.outcome == "win"
        self.losses += game.outcome == "loss"
        self.draws += game.outcome == "draw"
        self.unfinished += game.outcome == "none"


class OnlineListener(Listener):
    """Follows games against others. Every method does nothing: override those you need.

    They are called from the event loop.
    """

    def waiting(self, name: str, game: str) -> None:
        """Called when a player waits for a game: after the login, and after a game.

        Args:
            name: The player.
            game: The name of the game that it waits for; "" if the server chooses.
        """

    def game_started(self, game: OnlineGame) -> None:
        """Called when both sides have agreed."""

    def moved(self, game: OnlineGame, ply: int, played: RecordedMove, left_ms: dict[Color, int]) -> None:
        """Called after each move.

        Args:
            game: The game.
            ply: Number of the move, from 1.
            played: The move, with its time as the server counts it.
            left_ms: Main time left to each side.
        """

    def game_ended(self, game: OnlineGame) -> None:
        """Called when a game has ended, and its record is on the disk."""


SILENT_ONLINE = OnlineListener()
"""Reports nothing; the default."""
