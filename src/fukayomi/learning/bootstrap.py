"""Bootstrap intervals of means over positions that are not independent of each other.

Positions of one game share its result and resemble each other, so single positions are not drawn. Whole groups are:
games, or blocks of consecutive positions where the data does not tell games apart.

Sources: B. Efron, R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13 (percentile intervals);
H. R. Künsch, "The jackknife and the bootstrap for general stationary observations" (1989), for blocks.
"""

from dataclasses import dataclass
from math import isnan

import numpy as np
from numpy.typing import NDArray

_CHUNK = 4_000_000  # elements of the largest array

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval."""

    value: float
    """Mean over all positions; NaN where none has the target."""
    low: float | None
    """Lower end of the interval; None where there are fewer than two groups."""
    high: float | None
    """Upper end of the interval."""

    @property
    def margin(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def resample_means(sums: Floats, counts: Floats, *, resamples: int, seed: int) -> Floats:
    """Means of random samples of groups, drawn with replacement, each of as many groups as there are.

    Args:
        sums: Sums over the positions of each group, [G, M].
        counts: Positions of each group, [G].
        resamples: Number of samples R.
        seed: Random seed; the same seed and number of groups give the same samples.

    Returns:
        The means of each sample, [R, M]. All M columns are of the same samples, so their differences are paired.
    """
    random = np.random.default_rng(seed)
    groups = len(counts)
    means = np.empty((resamples, sums.shape[1]))
    chunk = max(1, _CHUNK // max(1, groups))
    for first in range(0, resamples, chunk):
        last = min(first + chunk, resamples)
        drawn = np.empty((last - first, groups))
        for row in drawn:
            row[:] = np.bincount(random.integers(groups, size=groups), minlength=groups)
        means[first:last] = (drawn @ sums) / (drawn @ counts)[:, None]
    return means


def percentile_estimates(values: Floats, means: Floats, confidence: float) -> list[Estimate]:
    """Values, [M], with intervals from the means of R samples, [R, M]; R = 0 gives no intervals, nor has NaN one."""
    if len(means) == 0:
        return [Estimate(value, None, None) for value in values.tolist()]
    tail = (1 - confidence) / 2
    lows, highs = np.quantile(means, [tail, 1 - tail], axis=0).tolist()
    found = zip(values.tolist(), lows, highs, strict=True)
    return [Estimate(value, *((None, None) if isnan(value) else ends)) for value, *ends in found]
