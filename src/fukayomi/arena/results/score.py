"""Wins, losses and draws of one side."""

from dataclasses import dataclass

from fukayomi.arena.statistics.intervals import score_interval


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
