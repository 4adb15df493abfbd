"""A finished game as the statistics need it, whatever its source, with scores and forfeits.

Forfeits are games lost on time, by an illegal move, or because an engine failed. Losses on time and by illegal moves
are results (`head_to_head`), but they often say more about the conditions of a match than about strength. So they are
counted by player, and a warning names a player who owes them much of its losses.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fukayomi.arena.statistics.intervals import score_interval
from fukayomi.shogi import START_SFEN, Move
from fukayomi.shogi.record import Record, Result, Termination
from fukayomi.tabular import counted, printable

_DATE = re.compile(r"(\d{4})[/.\-](\d{1,2})[/.\-](\d{1,2})", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class Game:
    """The players, the result and, where the source has them, the moves."""

    black: str
    white: str
    result: Result
    termination: Termination = Termination.NONE
    name: str = ""
    """Its origin: a file, a member of an archive, or the number of the game in its match."""
    initial_sfen: str = START_SFEN
    moves: tuple[Move, ...] | None = None
    """None if the source has results only, as PGN."""
    black_rating: float | None = None
    white_rating: float | None = None
    date: str = ""
    """Such as ``2026-01-03``, or empty."""
    pair: int | None = None
    """Number shared by the two games of an opening with swapped colours; None outside matches."""

    @classmethod
    def from_record(cls, record: Record) -> "Game":
        """A record without its scores, times and comments."""
        date = _DATE.match(record.start_time)
        return cls(
            black=record.black_name,
            white=record.white_name,
            result=record.result,
            termination=record.termination,
            name=record.name,
            initial_sfen=record.initial_sfen,
            moves=tuple(played.move for played in record.moves),
            black_rating=record.black_rating,
            white_rating=record.white_rating,
            date="{}-{:0>2}-{:0>2}".format(*date.groups()) if date else "",
        )

    def __repr__(self) -> str:
        length = "" if self.moves is None else f", {counted(len(self.moves), 'move')}"
        return f"<Game {printable(self.black)} - {printable(self.white)}: {self.result.name}{length}>"

    @property
    def year(self) -> int | None:
        """The year of the date."""
        return int(self.date[:4]) if self.date[:4].isdigit() else None


@dataclass(slots=True)
class MatchScore:
    """Wins, losses and draws of one side. A draw is half a point.

    >>> str(MatchScore(240, 125, 1) + MatchScore(losses=2))
    '240-127-1 (65.4%)'
    """

    wins: int = 0
    losses: int = 0
    draws: int = 0

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.losses + self.draws

    @property
    def points(self) -> float:
        """Points, a draw as half a point."""
        return self.wins + self.draws / 2

    @property
    def rate(self) -> float | None:
        """Points per game, 0..1; None without games."""
        return self.points / self.games if self.games else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of `rate`, of independent games; (0, 1) without games."""
        return score_interval((self.losses, self.draws, self.wins))

    @property
    def mirrored(self) -> "MatchScore":
        """The score of the other side."""
        return MatchScore(self.losses, self.wins, self.draws)

    def add(self, half_points: int) -> None:
        """Count a game that brought 0, 1 or 2 half points."""
        if half_points == 2:
            self.wins += 1
        elif half_points == 1:
            self.draws += 1
        else:
            self.losses += 1

    def text(self) -> str:
        """For example ``240-125-1``: wins, losses, draws."""
        return f"{self.wins}-{self.losses}-{self.draws}"

    def __add__(self, other: "MatchScore") -> "MatchScore":
        return MatchScore(self.wins + other.wins, self.losses + other.losses, self.draws + other.draws)

    def __str__(self) -> str:
        """For example ``240-125-1 (65.7%)``."""
        return f"{self.text()} ({'-' if self.rate is None else f'{self.rate:.1%}'})"


FORFEITS: dict[Termination, str] = {
    Termination.TIME_UP: "on time",
    Termination.ILLEGAL_MOVE: "by illegal moves",
    Termination.CRASH: "by crashes",
    Termination.STALL: "by stalls",
    Termination.PROTOCOL: "by breaches of protocol",
}
"""Endings that are forfeits, in words."""

NOTABLE_FORFEITS = 2
"""Forfeits of which a player is warned,"""
NOTABLE_SHARE = 0.1
"""if they are this share of its losses or more."""

Causes = Counter[Termination]
"""Forfeits of a player by their kinds."""


def is_forfeit(game: Game) -> bool:
    """True if the game was decided by a forfeit."""
    return game.termination in FORFEITS and loser_of(game) is not None


def loser_of(game: Game) -> str | None:
    """Name of the loser; None for other results."""
    return {Result.BLACK_WIN: game.white, Result.WHITE_WIN: game.black}.get(game.result)


def are_notable(causes: Causes, losses: int) -> bool:
    """True if a result rests on forfeits: two or more, and a tenth of the player's losses or more."""
    count = causes.total()
    return count >= NOTABLE_FORFEITS and count >= NOTABLE_SHARE * losses


def forfeits_text(causes: Causes, losses: int) -> str:
    """Such as ``12 of 40 losses are forfeits (10 on time, 2 by illegal moves)``."""
    are = "is a forfeit" if causes.total() == 1 else "are forfeits"
    return f"{causes.total():,} of {counted(losses, 'loss', 'losses')} {are} ({causes_text(causes)})"


def causes_text(causes: Causes) -> str:
    """Such as ``10 on time, 2 by illegal moves``."""
    return ", ".join(f"{causes[kind]} {words}" for kind, words in FORFEITS.items() if causes[kind])


def by_name(causes: Causes) -> Mapping[str, int]:
    """The counts by the names of the endings; all kinds are there."""
    return {str(kind): causes[kind] for kind in FORFEITS}
