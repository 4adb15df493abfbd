"""The Elo of a match that a sequential test may have ended.

A test stops when the score happens to be far out, so the plain Elo of a stopped match is too far out as well, and its
interval too narrow. Here the LLR is taken for a Brownian motion between the bounds, whose drift is the true Elo.
Outcomes are ordered: those that passed the lower bound, the sooner the lower; those in between, by their LLR; those
that passed the upper bound, the sooner the higher. The Elo is the one for which the match's outcome is the median, the
interval ends where it is the 2.5th and the 97.5th percentile. While a match is far from both bounds this is the plain
Elo.

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

FEW_IMAGES = 0.3  # below this time (of the walk across the bounds) images converge faster than waves
TERMS = 12  # of either series: the first one left out is below 1e-16


@dataclass(frozen=True, slots=True)
class SequentialElo:
    """Elo (logistic, for either model) with its 95 % interval, and the likelihood of superiority, 0..1."""

    elo: float
    low: float
    high: float
    los: float


def estimate_sequential_elo(counts: Sequence[int], settings: SprtSettings) -> SequentialElo | None:
    """The strength behind the counts at which a test was ended, or goes on; None if all results are the same.

    An LLR beyond a bound is taken to have passed it earlier, in proportion.

    Raises:
        CountsError: There are not three or five counts, or one is negative.
    """
    counts = check_counts(counts)
    if max(counts) == sum(counts):
        return None
    weights = [count or ABSENT for count in counts]
    total, steps = sum(weights), len(counts) - 1
    games_a_result = 2 if len(counts) == 5 else 1
    mean = sum(i / steps * weight for i, weight in enumerate(weights)) / total
    variance = games_a_result * sum((i / steps - mean) ** 2 * weight for i, weight in enumerate(weights)) / total
    games = games_a_result * total
    if settings.model is SprtModel.LOGISTIC:
        score0, score1 = elo_to_score(settings.elo0), elo_to_score(settings.elo1)
    else:
        score0, score1 = (0.5 + elo / NELO_PER_UNIT * sqrt(variance) for elo in (settings.elo0, settings.elo1))
    a_point = (score1 - score0) / variance  # of LLR, by the normal approximation
    spread = (score1 - score0) * a_point
    middle = (score0 + score1) / 2
    llr = games * a_point * (mean - middle)
    clamped = min(max(llr, settings.lower), settings.upper)
    if clamped != llr:
        games *= clamped / llr

    def below(elo: float) -> float:
        drift = a_point * (elo_to_score(elo) - middle)
        return outcome_cdf(games, clamped, settings.lower, settings.upper, drift, spread)

    plain = score_to_elo(mean)
    elo, low, high = (_solve(below, share, plain) for share in (0.5, 0.975, 0.025))
    return SequentialElo(elo, low, high, below(0.0))


def _solve(falling: Callable[[float], float], value: float, start: float) -> float:
    """The Elo, within ±1200, at which a falling function has this value."""
    low, high, width = start, start, 10.0
    while falling(low) < value and low > -1200:
        low, width = max(low - width, -1200.0), width * 2
    width = 10.0
    while falling(high) > value and high < 1200:
        high, width = min(high + width, 1200.0), width * 2
    for _ in range(100):
        center = (low + high) / 2
        if falling(center) > value:
            low = center
        else:
            high = center
        if high - low < 1e-10:
            break
    return (low + high) / 2


def outcome_cdf(time: float, value: float, lower: float, upper: float, drift: float, variance: float) -> float:
    """How probable an outcome at or below this one is, for a Brownian motion from 0 that the bounds absorb.

    Args:
        time: When it was seen or absorbed.
        value: Where; at a bound it was absorbed there.
        lower: Below 0.
        upper: Above 0.
        drift: A unit of time.
        variance: A unit of time.
    """
    if variance * time / (upper - lower) ** 2 < FEW_IMAGES:
        found = _by_images(time, value, lower, upper, drift, variance)
    else:
        found = _by_waves(time, value, lower, upper, drift, variance)
    return min(max(found, 0.0), 1.0)


def _log_cdf(x: Floats) -> Floats:
    """Logarithm of the normal distribution function, good in both tails."""
    return special.log_ndtr(x)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _by_images(time: float, value: float, lower: float, upper: float, drift: float, variance: float) -> float:
    """By reflections at the bounds; for short times."""
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
        side = np.where(low > 0, -1, 1)  # the difference of small tails, not of numbers near 1
        tails = np.exp(tilt * start + _log_cdf(side * high)) - np.exp(tilt * start + _log_cdf(side * low))
        present += sign * float((side * tails).sum())
    return absorbed + present


def _by_waves(time: float, value: float, lower: float, upper: float, drift: float, variance: float) -> float:
    """By the vibrations of a string between the bounds, which die out; for long times."""
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
