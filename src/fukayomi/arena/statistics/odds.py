"""At what odds two players are equal: how much of something (nodes, time) one must have to score 50 %.

The model: the score of who is varied is logistic in the logarithm of the amount,

    score = 1 / (1 + exp(-slope (log amount - log even))),

that is, each doubling is worth the same Elo. That holds near enough over the few doublings around the amount that is
sought, and games are played there. Two numbers are unknown, and all games at all amounts tell of them.

The slope is of no interest of its own and is integrated out, over a weak prior: 80 Elo a doubling, and in two cases of
three between 32 and 200. On the amount itself there is no prior. Its interval is of 95 %: all amounts whose
integrated likelihood is at least exp(-t²/2) times the best one's, with t = 1.96 or, after few games, a little more,
and farther where that is less than 95 % of the likelihood. Where the games do not bound it, it is open.

Draws count as half, and the two games of an opening belong together. Both make results scatter less than coins do
(and repeated games more); so the likelihood is tempered by the scatter that is seen, as in quasi-likelihood, and t is
Student's. Where games are played is chosen by results so far, which does not bias a likelihood.

Sources: J. O. Berger, B. Liseo, R. L. Wolpert, "Integrated likelihood methods for eliminating nuisance parameters"
(1999); P. McCullagh, J. A. Nelder, "Generalized linear models" (1989), on quasi-likelihood and designs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isfinite, log

import numpy as np
from numpy.typing import NDArray
from scipy import special  # pyright: ignore[reportMissingTypeStubs]

from fukayomi.arena.statistics.intervals import CountsError

Floats = NDArray[np.float64]

ELO_PER_UNIT = 400 / log(10)
"""Elo of one unit of the logistic scale."""
PRIOR_ELO = 80.0
"""Median of the prior of a doubling's worth."""
PRIOR_SIGMA = log(2.5)
"""Standard deviation of its logarithm."""
PRIOR_PAIRS = 10
"""The scatter is taken for that of coins by so many pairs before any is seen."""
FITTED = 2
"""Numbers that are fitted take their share of the scatter."""
REACH = 1000.0
"""The amount is sought up to this factor beyond the range; an interval that goes farther is open."""
DROP999 = 5.414
"""Half the quantile of chi-square with one degree of freedom, of 99.9 %."""
ASIDE = 0.62
"""Games are played where a score of 35 % or 65 % is expected: that tells of the slope, too, and costs 9 % of what
games at 50 % would say of the amount."""
STEPS = 240
SLOPES = 31


class OddsError(ValueError):
    """A range or an amount that is none."""


@dataclass(frozen=True, slots=True)
class Level:
    """Results at one amount, from the view of the player that has it.

    Attributes:
        amount: Nodes or milliseconds; above 0.
        pairs: Pairs of games by points: 0, 1/2, 1, 3/2, 2.
    """

    amount: float
    pairs: tuple[int, int, int, int, int]

    def __post_init__(self) -> None:
        if not 0 < self.amount < float("inf"):
            raise OddsError(f"an amount must be above 0, not {self.amount}")
        if min(self.pairs) < 0:
            raise CountsError(f"counts of pairs must be from 0, not {self.pairs}")

    @property
    def games(self) -> int:
        """In complete pairs."""
        return 2 * sum(self.pairs)

    @property
    def points(self) -> float:
        """With a draw as half."""
        return sum(half * count for half, count in enumerate(self.pairs)) / 2

    @property
    def squares(self) -> float:
        """Sum of the squared points of pairs."""
        return sum(half * half * count for half, count in enumerate(self.pairs)) / 4


@dataclass(frozen=True, slots=True)
class Odds:
    """What games say of the amount at which the score is 50 %.

    Attributes:
        estimate: The most likely amount; None where games do not even bound it on one side, or there are none.
        low: Lower end of its 95 % interval; None: it is open.
        high: Upper end; None: it is open.
        elo: What a doubling is worth; the median. The prior's without games.
        elo_low: Lower end of its 95 % interval.
        elo_high: Upper end.
        scatter: Variance of pairs as a share of that of coins.
        middle: Median of the amount within the range, if it lies there: where to play next.
        is_outside: It is certain (99.9 %) that the amount lies beyond the range.
    """

    estimate: float | None
    low: float | None
    high: float | None
    elo: float
    elo_low: float
    elo_high: float
    scatter: float
    middle: float
    is_outside: bool

    @property
    def width(self) -> float | None:
        """By which factor the ends of the interval lie from its middle; None where it is open."""
        return None if self.low is None or self.high is None else (self.high / self.low) ** 0.5

    def score(self, amount: float) -> float | None:
        """What is expected at this amount, 0..1; None where nothing is known."""
        if self.estimate is None:
            return None
        return 1 / (1 + exp(-_slope_of(self.elo) * log(amount / self.estimate)))


def estimate_odds(levels: Sequence[Level], least: float, most: float) -> Odds:
    """The amount at which the score is 50 %, by the results at all amounts.

    Args:
        levels: In any order; the same amount may come several times.
        least: Lower end of the range in which the amount is sought, above 0.
        most: Its upper end.

    Raises:
        OddsError: The range is none.
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
    if peak is not None:  # once more, closely
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
    """Where the next games tell most: in turn below and above the middle of what is possible.

    Args:
        odds: By all games so far.
        least: Nothing below is played.
        most: Nothing above is played.
        number: Of these games, from 0; the first ones are played in the middle itself.
    """
    aside = 0.0 if number == 0 else ASIDE / _slope_of(odds.elo) * (1 if number % 2 else -1)
    return min(max(odds.middle * exp(aside), least), most)


class _Surface:
    """The likelihood on a grid of even amounts (logarithms) and slopes.

    Attributes:
        evens: Where, [E].
        marginal: Logarithm of the likelihood with the slope integrated out, [E]; its greatest is 0.
    """

    def __init__(self, levels: Sequence[Level], evens: Floats) -> None:
        self.evens = evens
        self._deviates = np.linspace(-3.5, 3.5, SLOPES)
        self._slopes = _slope_of(PRIOR_ELO) * np.exp(PRIOR_SIGMA * self._deviates)
        self._games = np.zeros((evens.size, SLOPES))
        for level in levels:
            lead = self._slopes * (log(level.amount) - evens[:, None])
            self._games += level.points * lead - level.games * np.logaddexp(0, lead)
        self.temper(1.0)

    def temper(self, scatter: float) -> None:
        """Weigh the games as their scatter says."""
        self._joint = self._games / scatter - self._deviates**2 / 2
        self.marginal: Floats = np.logaddexp.reduce(self._joint, axis=1)
        self.marginal -= self.marginal.max()

    def best(self) -> tuple[float, float]:
        """The likeliest even amount and slope together."""
        even, slope = np.unravel_index(int(self._joint.argmax()), self._joint.shape)
        return float(self.evens[even]), float(self._slopes[slope])

    def interval(self, drop: float) -> tuple[float | None, float | None, float | None]:
        """The peak and where the likelihood has fallen by so much; None where that is beyond the grid."""
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
        """How far below its peak the likelihood is at the ends of an interval that holds this share of it."""
        ranked = -np.sort(-self.marginal)
        below = np.cumsum(np.exp(ranked))
        return -float(ranked[np.count_nonzero(below < share * below[-1])])

    def slopes_at(self, *shares: float) -> list[float]:
        """Quantiles of the Elo of a doubling."""
        weights = np.exp(self._joint - self._joint.max()).sum(axis=0)
        deviates = _quantiles(self._deviates, weights, shares)
        return [PRIOR_ELO * exp(PRIOR_SIGMA * deviate) for deviate in deviates]

    def within(self, begin: float, end: float) -> tuple[float, bool]:
        """The median between two points, and whether what lies there is ruled out."""
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
    """Variance of pairs around the model as a share of that of coins, which count as some pairs, too."""
    seen, expected = PRIOR_PAIRS * 0.5, (PRIOR_PAIRS - FITTED) * 0.5
    for level in levels:
        score = 1 / (1 + exp(-slope * (log(level.amount) - even)))
        pairs, mean = level.games / 2, 2 * score
        seen += level.squares - 2 * mean * level.points + pairs * mean * mean
        expected += pairs * 2 * score * (1 - score)
    return seen / expected


def _student(pairs: int) -> float:
    """Where 95 % of Student's distribution lie, as far as the scatter is known by so many pairs."""
    known = PRIOR_PAIRS + pairs - FITTED
    return special.stdtrit(known, 0.975)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _quantiles(points: Floats, weights: Floats, shares: Sequence[float]) -> list[float]:
    """Of a density that is given at equally spaced points."""
    middles = (weights[1:] + weights[:-1]) / 2
    below = np.concatenate(([0.0], np.cumsum(middles)))
    return [float(np.interp(share, below / below[-1], points)) for share in shares]


def _slope_of(elo: float) -> float:
    """The slope on logarithms, by what a doubling is worth."""
    return elo / ELO_PER_UNIT / log(2)
