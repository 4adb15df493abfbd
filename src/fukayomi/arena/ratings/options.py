"""Options of ratings and their defaults. Without NumPy: commands import it at start-up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log

SCALE_SCORE = 0.76
"""Expected score of a player who is `RatingOptions.scale` points ahead."""
ELO_SCALE = 200.2419
"""The `RatingOptions.scale` of Elo: 10 ** (points / 400) are the odds."""


@dataclass(frozen=True)
class RatingOptions:
    """How ratings are computed. Ratings and the first-move advantage are in points of `scale`, rates in percent."""

    average: float = 0.0
    """Average rating of the players, if none is anchored."""
    anchors: Mapping[str, float] = field(default_factory=dict[str, float])
    """Fixed ratings by player."""
    hidden: frozenset[str] = frozenset()
    """Players whose games count but who are not listed."""
    first_mover_advantage: float | None = None
    """Fixed advantage of the first move; None estimates it."""
    draw_rate: float | None = None
    """Fixed draw rate of equal players; None estimates it."""
    scale: float = 202.0
    """Rating difference for a 76 % expected score."""
    by_results: bool = False
    """Fit win/draw/loss counts under the draw model instead of points."""
    confidence: float = 95.0
    """Confidence level of the errors."""
    bayes: bool = False
    """Add ratings by BayesElo's model and prior."""
    simulations: int = 1000
    """Simulations for errors and CFS; 0 for neither."""
    seed: int = 0
    """Random seed of the simulations."""

    @property
    def point(self) -> float:
        """Logits per rating point."""
        return log(SCALE_SCORE / (1 - SCALE_SCORE)) / self.scale
