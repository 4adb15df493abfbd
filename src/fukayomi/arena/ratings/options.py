"""Options of ratings and their defaults. Without NumPy: commands import it at start-up."""

from collections.abc import Mapping
from math import log
from typing import Annotated

from pydantic import Field

from fukayomi.settings import Settings

SCALE_SCORE = 0.76
"""Expected score of a player who is `RatingOptions.scale` points ahead."""
ELO_SCALE = 200.2419
"""The `RatingOptions.scale` of Elo: 10 ** (points / 400) are the odds."""


class RatingOptions(Settings):
    """Options of ratings. Ratings and the first-move advantage are in points of `scale`, rates in percent."""

    average: float = 0.0
    """Average rating of the players, if none is anchored."""
    anchors: Mapping[str, float] = Field(default_factory=dict)
    """Fixed ratings by player."""
    hidden: frozenset[str] = frozenset()
    """Players whose games count but who are not listed."""
    first_mover_advantage: float | None = None
    """Fixed advantage of the first move; None estimates it."""
    draw_rate: float | None = None
    """Fixed draw rate of equal players; None estimates it."""
    scale: Annotated[float, Field(gt=0)] = 202.0
    """Rating difference for a 76 % expected score."""
    by_results: bool = False
    """Fit win/draw/loss counts under the draw model instead of points (Ordo's -M)."""
    confidence: Annotated[float, Field(gt=0, lt=100)] = 95.0
    """Confidence level of the errors, percent."""
    bayes: bool = False
    """Add ratings by BayesElo's model and prior."""
    simulations: Annotated[int, Field(ge=0, le=1_000_000)] = 1000
    """Simulations for errors and CFS; 0 for neither."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Random seed of the simulations; the same seed gives identical errors."""

    @property
    def point(self) -> float:
        """Logits per rating point."""
        return log(SCALE_SCORE / (1 - SCALE_SCORE)) / self.scale
