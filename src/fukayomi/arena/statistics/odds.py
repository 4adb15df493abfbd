"""The odds at which two players are equal: the amount (nodes, time) that one needs for a 50 % score.

The model: the score of the player whose amount varies is logistic in the logarithm of the amount,

    score = 1 / (1 + exp(-slope (log amount - log even))),

that is, every doubling is worth the same Elo. This is accurate enough over the few doublings around the wanted amount,
where games are played. The two unknowns, `even` and `slope`, are estimated from all games at all amounts.

The slope is a nuisance parameter and is integrated out over a weak prior: 80 Elo per doubling, between 32 and 200 in
two cases of three. The amount has no prior. Its 95 % interval holds all amounts whose integrated likelihood is at least
exp(-t²/2) times the maximum, with t = 1.96 (a little more after few games); it is widened if it holds less than 95 % of
the likelihood. An end that the games do not bound is open.

A draw is half a point, and the two games of an opening belong together. Both make results scatter less than coin flips;
repeated games make them scatter more. Therefore the likelihood is tempered by the observed scatter, as in
quasi-likelihood, and t is Student's. Choosing the next amount from earlier results does not bias a likelihood.

Sources: J. O. Berger, B. Liseo, R. L. Wolpert, "Integrated likelihood methods for eliminating nuisance parameters"
(1999); P. McCullagh, J. A. Nelder, "Generalized linear models" (1989), chapter 9 (quasi-likelihood).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isfinite, log

import numpy as np
from numpy.typing import NDArray
from scipy import special  # pyright: ignore[reportMissingTypeStubs]

from fukayomi.arena.statistics.intervals import CountsError
from fukayomi.errors import InvalidValueError

Floats = NDArray[np.float64]

ELO_PER_UNIT = 400 / log(10)
"""Elo per logit."""
PRIOR_ELO = 80.0
"""Median of the prior, Elo per doubling."""
PRIOR_SIGMA = log(2.5)
"""Standard deviation of the logarithm of the prior."""
PRIOR_PAIRS = 10
"""Pairs with the scatter of coin flips that are assumed before any result."""
FITTED = 2
"""Fitted parameters; each costs one degree of freedom."""
REACH = 1000.0
"""The search goes beyond the range by this factor; an interval that goes farther is open."""
DROP999 = 5.414
"""Half the 99.9 % quantile of chi-square with one degree of freedom."""
ASIDE = 0.62
"""Distance from the even amount, in logits, at which games are played: expected scores of 35 % and 65 %. They show the
slope too, and cost 9 % of the information about the amount."""
STEPS = 240
SLOPES = 31


class OddsError(InvalidValueError):
    """An invalid range or amount."""


@dataclass(frozen=True, slots=True)
class Level:
    """Results at one amount, from the view of the player whose amount varies."""

    amount: float
    """Nodes or milliseconds, above 0."""
    pairs: tuple[int, int, int, int, int]
    """Pairs of games by points: 0, 1/2, 1, 3/2, 2."""

    def __post_init__(self) -> None:
        if not 0 < self.amount < float("inf"):
            raise OddsError(f"an amount must be above 0, not {self.amount}")
        if min(self.pairs) < 0:
            raise CountsError(f"counts of pairs must be 0 or more, not {self.pairs}")

    @property
    def games(self) -> int:
        """Games in complete pairs."""
        return 2 * sum(self.pairs)

    @property
    def points(self) -> float:
        """Points in these games, a draw as half a point."""
        return sum(half * count for half, count in enumerate(self.pairs)) / 2

    @property
    def squares(self) -> float:
        """Sum of the squared points of pairs."""
        return sum(half * half * count for half, count in enumerate(self.pairs)) / 4


@dataclass(frozen=True, slots=True)
class Odds:
    """The estimated amount at which the score is 50 %."""

    estimate: float | None
    """The most likely amount; None if the games bound it on neither side, or there are none."""
    low: float | None
    """Lower end of its 95 % interval; None if it is open."""
    high: float | None
    """Upper end; None if it is open."""
    elo: float
    """Elo per doubling, the posterior median; the prior's without games."""
    elo_low: float
    """Lower end of the 95 % interval of `elo`."""
    elo_high: float
    """Upper end."""
    scatter: float
    """Variance of pairs relative to coin flips."""
    middle: float
    """Median of the amount given that it lies in the range: where to play next."""
    is_outside: bool
    """The amount lies outside the range with 99.9 % certainty."""

    @property
    def width(self) -> float | None:
        """Factor between the middle of the interval and its ends; None if it is open."""
        return None if self.low is None or self.high is None else (self.high / self.low) ** 0.5

    def score(self, amount: float) -> float | None:
        """Expected score at an amount, 0..1; None without an estimate."""
        if self.estimate is None:
            return None
        return float(special.expit(_slope_of(self.elo) * log(amount / self.estimate)))  # pyright: ignore


def estimate_odds(levels: Sequence[Level], least: float, most: float) -> Odds:
    """The amount at which the score is 50 %, from the results at all amounts.

    Args:
        levels: Results by amount, in any order; amounts may repeat.
        least: Lower end of the range to search, above 0.
        most: Upper end of the range.

    Raises:
        OddsError: The range is invalid.
    """
    if not (0 < least < most and isfinite(most)):
        raise OddsError(f"a range goes from an amount above 0 to a larger one, not from {least} to {most}")
    levels = [level for level in levels if level.games]
    begin, end = log(least) - log(REACH), log(most) + log(REACH)
    wide = _Surface(levels, np.linspace(begin, end, STEPS))
    scatter = _scatter(levels, *wide.best())
    wide.temper(scatter)
    drop = _student(sum(level.games for level in levels) // 2) ** 2 / 2
    peak, low, high = wide.interval(drop)
    if peak is not None:  # again on a fine grid
        margin = 2 * (end - begin) / STEPS + (0.0 if low is None or high is None else (high - low) / 2)
        bounds = begin if low is None else low - margin, end if high is None else high + margin
        close = _Surface(levels, np.linspace(*bounds, STEPS))
        close.temper(scatter)
        peak, low, high = close.interval(max(drop, close.depth(0.95)))
    elo_low, elo, elo_high = wide.slopes_at(0.025, 0.5, 0.975)
    middle, is_outside = wide.within(log(least), log(most))
    estimate, lowest, highest = (None if value is None else exp(value) for value in (peak, low, high))
    return Odds(estimate, lowest, highest, elo, elo_low, elo_high, scatter, exp(middle), is_outside)


def next_amount(odds: Odds, least: float, most: float, number: int) -> float:
    """The amount at which the next games are most informative, alternating below and above the middle.

    Args:
        odds: Estimate from all games so far.
        least: Lower limit of the amount.
        most: Upper limit of the amount.
        number: Number of the batch of games, from 0; the first is played at the middle itself.
    """
    aside = 0.0 if number == 0 else ASIDE / _slope_of(odds.elo) * (1 if number % 2 else -1)
    return min(max(odds.middle * exp(aside), least), most)


class _Surface:
    """The likelihood on a grid of even amounts (logarithms) and slopes."""

    def __init__(self, levels: Sequence[Level], evens: Floats) -> None:
        self.evens = evens
        """Logarithms of the even amounts, [E]."""
        self._deviates = np.linspace(-3.5, 3.5, SLOPES)
        self._slopes = _slope_of(PRIOR_ELO) * np.exp(PRIOR_SIGMA * self._deviates)
        self._games = np.zeros((evens.size, SLOPES))
        for level in levels:
            lead = self._slopes * (log(level.amount) - evens[:, None])
            self._games += level.points * lead - level.games * np.logaddexp(0, lead)
        self.temper(1.0)

    def temper(self, scatter: float) -> None:
        """Weight the games by their scatter."""
        self._joint = self._games / scatter - self._deviates**2 / 2
        self.marginal: Floats = np.logaddexp.reduce(self._joint, axis=1)
        """Log-likelihood with the slope integrated out, [E]; its maximum is 0."""
        self.marginal -= self.marginal.max()

    def best(self) -> tuple[float, float]:
        """The jointly most likely even amount (logarithm) and slope."""
        even, slope = np.unravel_index(int(self._joint.argmax()), self._joint.shape)
        return float(self.evens[even]), float(self._slopes[slope])

    def interval(self, drop: float) -> tuple[float | None, float | None, float | None]:
        """The peak, and where the log-likelihood has dropped by `drop` on either side; None if beyond the grid."""
        inside = np.flatnonzero(self.marginal >= -drop)
        first, last = int(inside[0]), int(inside[-1])
        low = self._crossing(first - 1, first, -drop) if first > 0 else None
        high = self._crossing(last + 1, last, -drop) if last < self.evens.size - 1 else None
        top = int(self.marginal.argmax())
        if (low is None and high is None) or top in (0, self.evens.size - 1):
            return None, low, high
        left, center, right = (float(value) for value in self.marginal[top - 1 : top + 2])
        bend = left - 2 * center + right
        step = float(self.evens[1] - self.evens[0])
        return float(self.evens[top]) + (step * (left - right) / (2 * bend) if bend else 0.0), low, high

    def depth(self, share: float) -> float:
        """Depth below its peak of the log-likelihood at the ends of the interval that holds this share of it."""
        ranked = -np.sort(-self.marginal)
        below = np.cumsum(np.exp(ranked))
        return -float(ranked[np.count_nonzero(below < share * below[-1])])

    def slopes_at(self, *shares: float) -> list[float]:
        """Quantiles of the Elo per doubling."""
        weights = np.exp(self._joint - self._joint.max()).sum(axis=0)
        deviates = _quantiles(self._deviates, weights, shares)
        return [PRIOR_ELO * exp(PRIOR_SIGMA * deviate) for deviate in deviates]

    def within(self, begin: float, end: float) -> tuple[float, bool]:
        """The median between two points, and whether everything between them is ruled out."""
        inside = np.linspace(begin, end, STEPS)
        values = np.interp(inside, self.evens, self.marginal)
        top = float(values.max())
        (middle,) = _quantiles(inside, np.exp(values - top), (0.5,))
        return middle, top < -DROP999

    def _crossing(self, outer: int, inner: int, value: float) -> float:
        below, above = float(self.marginal[outer]), float(self.marginal[inner])
        share = (value - below) / (above - below)
        return float(self.evens[outer] + share * (self.evens[inner] - self.evens[outer]))


def _scatter(levels: Sequence[Level], even: float, slope: float) -> float:
    """Variance of pairs around the model relative to coin flips, with PRIOR_PAIRS pairs of coin flips mixed in."""
    seen, expected = PRIOR_PAIRS * 0.5, (PRIOR_PAIRS - FITTED) * 0.5
    for level in levels:
        score = float(special.expit(slope * (log(level.amount) - even)))  # pyright: ignore
        pairs, mean = level.games / 2, 2 * score
        seen += level.squares - 2 * mean * level.points + pairs * mean * mean
        expected += pairs * 2 * score * (1 - score)
    return seen / expected


def _student(pairs: int) -> float:
    """The 97.5 % quantile of Student's t for a scatter estimated from this many pairs."""
    known = PRIOR_PAIRS + pairs - FITTED
    return special.stdtrit(known, 0.975)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _quantiles(points: Floats, weights: Floats, shares: Sequence[float]) -> list[float]:
    """Quantiles of a density given at equally spaced points."""
    middles = (weights[1:] + weights[:-1]) / 2
    below = np.concatenate(([0.0], np.cumsum(middles)))
    return [float(np.interp(share, below / below[-1], points)) for share in shares]


def _slope_of(elo: float) -> float:
    """The slope in the logarithm of the amount, from Elo per doubling."""
    return elo / ELO_PER_UNIT / log(2)
