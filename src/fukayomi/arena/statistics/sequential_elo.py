"""The Elo of a match that a sequential test may have stopped.

A test stops when the score happens to be extreme, so the plain Elo of a stopped match is biased outward and its
interval is too narrow. Here the LLR is modelled as a Brownian motion between the bounds, with a drift set by the true
Elo. Outcomes are ordered by stages: first matches stopped at the lower bound, earlier ones lower; then running matches
by their LLR; then matches stopped at the upper bound, earlier ones higher. The estimate is the Elo for which the actual
outcome is the median; the interval ends where it is the 2.5th and the 97.5th percentile. Far from both bounds this is
the plain Elo.

Sources: D. Siegmund, "Sequential Analysis" (1985), chapter IV (the ordering); D. R. Cox and H. D. Miller, "The Theory
of Stochastic Processes" (1965), chapter 5 (Brownian motion between two absorbing barriers).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, expm1, pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special  # pyright: ignore[reportMissingTypeStubs]

from fukayomi.arena.statistics.intervals import ABSENT, NELO_PER_UNIT, check_counts, elo_to_score, score_to_elo
from fukayomi.arena.statistics.sprt import SprtModel, SprtSettings

Floats = npt.NDArray[np.floating[Any]]

FEW_IMAGES = 0.3  # below this time, relative to the walk from bound to bound, images converge faster than waves
TERMS = 12  # of either series; the first omitted one is below 1e-16
LARGEST_ELO = 1200.0  # estimates are limited to this


@dataclass(frozen=True, slots=True)
class SequentialElo:
    """Median-unbiased Elo of a sequential test."""

    elo: float
    """On the logistic scale, whatever the model of the test; within ±1200."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the interval."""
    los: float
    """Likelihood of superiority, 0..1."""


def estimate_sequential_elo(counts: Sequence[int], settings: SprtSettings) -> SequentialElo | None:
    """The Elo behind the counts of a test, stopped or running; None if all results are the same.

    An LLR beyond a bound is taken to have crossed it proportionally earlier.

    Args:
        counts: Losses, draws, wins; or pairs of games by points.
        settings: The test.

    Raises:
        CountsError: There are not three or five counts, or one is negative.
    """
    counts = check_counts(counts)
    if max(counts) == sum(counts):
        return None
    weights = [count or ABSENT for count in counts]
    total, steps = sum(weights), len(counts) - 1
    games_per_result = 2 if len(counts) == 5 else 1
    mean = sum(i / steps * weight for i, weight in enumerate(weights)) / total
    variance = games_per_result * sum((i / steps - mean) ** 2 * weight for i, weight in enumerate(weights)) / total
    games = games_per_result * total
    if settings.model is SprtModel.LOGISTIC:
        score0, score1 = elo_to_score(settings.elo0), elo_to_score(settings.elo1)
    else:
        score0, score1 = (0.5 + elo / NELO_PER_UNIT * sqrt(variance) for elo in (settings.elo0, settings.elo1))
    llr_per_point = (score1 - score0) / variance  # by the normal approximation
    spread = (score1 - score0) * llr_per_point
    middle = (score0 + score1) / 2
    llr = games * llr_per_point * (mean - middle)
    clamped = min(max(llr, settings.lower), settings.upper)
    if clamped != llr:
        games *= clamped / llr

    def below(elo: float) -> float:
        """Probability of an outcome at or below the actual one; falls as Elo rises."""
        drift = llr_per_point * (elo_to_score(elo) - middle)
        return outcome_cdf(games, clamped, settings.lower, settings.upper, drift, spread)

    plain = score_to_elo(mean)
    elo, low, high = (_find_crossing(below, share, plain) for share in (0.5, 0.975, 0.025))
    return SequentialElo(elo, low, high, los=below(0.0))


def _find_crossing(falling: Callable[[float], float], value: float, start: float) -> float:
    """The Elo at which a falling function takes a value, within ±LARGEST_ELO.

    The bracket grows from the start: far from the crossing the function overflows.
    """
    from scipy.optimize import brentq  # pyright: ignore

    inner, outer, step = start, start, 10.0 if falling(start) > value else -10.0
    while (falling(outer) - value) * step > 0:
        if abs(outer) == LARGEST_ELO:
            return outer
        inner, outer, step = outer, min(max(outer + step, -LARGEST_ELO), LARGEST_ELO), 2 * step
    if inner == outer:
        return start
    return float(brentq(lambda elo: falling(elo) - value, inner, outer, xtol=1e-10))  # pyright: ignore


def outcome_cdf(time: float, value: float, lower: float, upper: float, drift: float, variance: float) -> float:
    """Probability of an outcome at or below the given one, for a Brownian motion from 0 with two absorbing bounds.

    Args:
        time: When the motion was observed or absorbed.
        value: Where it was; at a bound it was absorbed there.
        lower: Lower bound, below 0.
        upper: Upper bound, above 0.
        drift: Drift per unit of time.
        variance: Variance per unit of time.
    """
    if variance * time / (upper - lower) ** 2 < FEW_IMAGES:
        found = _cdf_by_reflections(time, value, lower, upper, drift, variance)
    else:
        found = _cdf_by_fourier_series(time, value, lower, upper, drift, variance)
    return min(max(found, 0.0), 1.0)


def _log_cdf(x: Floats) -> Floats:
    """Logarithm of the normal distribution function, accurate in both tails."""
    return special.log_ndtr(x)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _cdf_by_reflections(time: float, value: float, lower: float, upper: float, drift: float, variance: float) -> float:
    """Sum over images: reflections at the bounds. For short times."""
    tilt, sigma, n = drift / variance, sqrt(variance * time), np.arange(-TERMS, TERMS + 1)
    period = 2 * (upper - lower)
    way = n * period - lower  # to the lower bound and its images
    length = np.abs(way)
    passed = np.exp(tilt * (lower - length) + _log_cdf((drift * time - length) / sigma)) + np.exp(
        tilt * (lower + length) + _log_cdf((-drift * time - length) / sigma)
    )
    absorbed = float((np.sign(way) * passed).sum())
    present = 0.0
    for start, sign in ((n * period, 1), (2 * lower - n * period, -1)):
        low, high = ((end - start - drift * time) / sigma for end in (lower, value))
        side = np.where(low > 0, -1, 1)  # subtract small tails, not numbers near 1
        tails = np.exp(tilt * start + _log_cdf(side * high)) - np.exp(tilt * start + _log_cdf(side * low))
        present += sign * float((side * tails).sum())
    return absorbed + present


def _cdf_by_fourier_series(
    time: float, value: float, lower: float, upper: float, drift: float, variance: float
) -> float:
    """Fourier series of the motion between the bounds, whose terms decay with time. For long times."""
    tilt, width, n = drift / variance, upper - lower, np.arange(1, TERMS + 1)
    wave = n * pi / width
    decay = (drift**2 / variance + wave**2 * variance) / 2
    if abs(tilt) * width < 1e-9:
        ever = upper / width
    elif tilt > 0:
        ever = exp(2 * tilt * lower) * -expm1(-2 * tilt * upper) / -expm1(-2 * tilt * width)
    else:
        ever = expm1(-2 * tilt * upper) / (expm1(-2 * tilt * upper) - expm1(-2 * tilt * lower))
    start = np.sin(-wave * lower)
    later = variance / width * float((wave * start * np.exp(tilt * lower - decay * time) / decay).sum())
    to_value = np.exp(tilt * value - decay * time) * (
        tilt * np.sin(wave * (value - lower)) - wave * np.cos(wave * (value - lower))
    )
    to_lower = np.exp(tilt * lower - decay * time) * wave
    present = 2 / width * float((start * (to_value + to_lower) / (tilt**2 + wave**2)).sum())
    return ever - later + present
