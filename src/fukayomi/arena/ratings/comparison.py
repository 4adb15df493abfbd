"""Certainty that one player is stronger than another."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import special  # pyright: ignore[reportMissingTypeStubs]

from fukayomi.arena.ratings.tally import Floats, Integers

_EQUAL = 1e-9  # logits; a difference without an error


@dataclass(frozen=True, eq=False)
class Comparison:
    """The certainty of differences of s players, row by row: the whole table of a large league needs much memory."""

    ratings: Floats
    """[s] in logits."""
    group: Integers
    """[s] players of different groups cannot be compared."""
    replays: Floats | None = None
    """[R, s] simulated ratings less their mean, divided by the root of R - 1."""
    covariance: Floats | None = None
    """[s, s] in place of the replays."""

    @classmethod
    def of_replays(cls, ratings: Floats, group: Integers, replays: Floats) -> Self:
        """From simulated ratings [R, s]."""
        return cls(ratings, group, (replays - replays.mean(axis=0)) / np.sqrt(len(replays) - 1))

    def row(self, player: int) -> Floats:
        """[s] certainty, in percent, that this player is stronger than each; NaN if they cannot be compared."""
        return self._certainty(np.array([player]), np.arange(len(self.ratings)))

    def next(self) -> Floats:
        """[s - 1] certainty that each player but the last is stronger than the next one."""
        return self._certainty(np.arange(len(self.ratings) - 1), np.arange(1, len(self.ratings)))

    def _certainty(self, one: Integers, other: Integers) -> Floats:
        """Of players against players; either array may have one element."""
        if self.covariance is not None:
            variance = np.diag(self.covariance)
            variance = variance[one] + variance[other] - 2 * self.covariance[one, other]
        elif self.replays is not None:
            variance = ((self.replays[:, one] - self.replays[:, other]) ** 2).sum(axis=0)
        else:
            return np.full(max(len(one), len(other)), np.nan)
        deviation = np.sqrt(np.maximum(0, variance))
        difference = self.ratings[one] - self.ratings[other]
        ratio = np.divide(difference, deviation, out=np.full_like(deviation, np.nan), where=deviation > _EQUAL)
        certainty = 100 * special.ndtr(ratio)  # pyright: ignore
        return np.where(self.group[one] == self.group[other], certainty, np.nan)
