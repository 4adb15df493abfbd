"""Measurements of the engine's strength: the figures of docs/strength.md against other programs."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Measured:
    """A match against another program at a time for each move."""

    time_ms: int
    """Our time for each move."""
    cores: int
    """Cores that we had."""
    opponent: str
    opponent_ms: int
    """The opponent's time for each move."""
    won: int
    lost: int
    drawn: int
    score: float
    """Percent."""

    def to_dict(self) -> dict[str, Any]:
        """The figures as the page gets them."""
        return asdict(self) | {"games": self.won + self.lost + self.drawn}


MEASURED = (
    Measured(100, 1, "fairy-stockfish 11.1 LB", 100, 81, 19, 0, 81.0),
    Measured(1000, 2, "fairy-stockfish 11.1 LB", 1000, 36, 4, 0, 90.0),
    Measured(1000, 2, "gpsusi (vm r3033)", 1000, 85, 15, 0, 85.0),
)
"""By our time for each move. Limits of nodes, temperatures and games against people are not measured."""
