"""SPSA (simultaneous perturbation stochastic approximation) on results of games. Knows no engines.

J. C. Spall: Multivariate stochastic approximation using a simultaneous perturbation gradient approximation, IEEE
Transactions on Automatic Control 37 (1992); gains as in his "Implementation of the simultaneous perturbation algorithm
for stochastic optimization" (1998). Parametrised by the end of the run, as in fishtest and OpenBench: for the k-th of N
pairs of games, and a parameter with c_end and r_end,

    c_k = c_end * (N / k) ** gamma          distance of both sides from the value
    R_k = r_end * (c_end / c_k) ** 2 * ((A + N) / (A + k)) ** alpha
    value += R_k * c_k * sign_k * (points of the plus side - points of the minus side)
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log, sqrt
from typing import Annotated

from pydantic import Field

from fukayomi.settings import Settings
from fukayomi.tuning.parameters import Dimension, Estimate, Proposal

CONFIDENCE = 0.95
"""Probability that all best values are in their intervals."""
UNIT_ROOT = 1.24
"""Factor on critical values where values follow results as a random walk: sqrt(4.59 / 3.00), 5 % points of phi_1 (D.
A. Dickey, W. A. Fuller: Econometrica 49 (1981), table IV) and of F."""
LEAST_PROPOSALS = 10
"""Proposals without which nothing is known."""
GRID = 200
"""Parts of a range at whose ends the slope is judged."""
BETA_1, BETA_2 = 0.9, 0.99
"""Adam's decay of the mean and of the mean square, by rounds (D. P. Kingma, J. Ba: arXiv:1412.6980)."""
EPSILON = 1e-8


class SpsaSettings(Settings):
    """The gains of SPSA. The defaults are Spall's, as in fishtest."""

    alpha: Annotated[float, Field(ge=0, le=1)] = 0.602
    """Exponent with which the steps become shorter."""
    gamma: Annotated[float, Field(ge=0, le=0.5)] = 0.101
    """Exponent with which both sides come closer to the value."""
    a_ratio: Annotated[float, Field(ge=0, le=1)] = 0.1
    """A, which keeps the first steps short, as a share of all pairs."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A proposal in play, with its gains for each dimension."""

    signs: tuple[int, ...]
    steps: tuple[float, ...]
    """R_k * c_k."""
    first: tuple[int, ...]
    second: tuple[int, ...]


class Spsa:
    """SPSA, plain or with steps scaled as Adam's.

    Adam's scaling divides the mean gradient of a round, smoothed over rounds, by its root mean square: a step no longer
    depends on how many games are drawn and how steep a parameter is. Without a smoothed gradient its steps would be as
    long as plain ones with results of mean square 1.

    Args:
        dimensions: The lines.
        pairs: Pairs of games of the whole run.
        settings: Gains.
        seed: Of the signs and of rounding.
        adam: Whether to scale steps as Adam does.
        pairs_each: Pairs of games of a proposal.
    """

    SIDES = ("+", "-")

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        pairs: int,
        settings: SpsaSettings | None = None,
        *,
        seed: int = 0,
        adam: bool = False,
        pairs_each: int = 1,
    ) -> None:
        self._dimensions, self._pairs, self._settings = tuple(dimensions), pairs, settings or SpsaSettings()
        self._seed, self._pairs_each = seed, pairs_each
        self._values = [each.start for each in self._dimensions]
        self._slopes = [_Slope() for _ in self._dimensions]
        self._asked: list[_Asked] = []
        self._number = 0
        self._adam = _Adam(len(self._dimensions)) if adam else None

    @property
    def values(self) -> tuple[float, ...]:
        """The value of each dimension."""
        return tuple(self._values)

    def propose(self, count: int) -> list[Proposal]:
        """See `Tuner`."""
        self._asked = []
        found: list[Proposal] = []
        for number in range(self._number, self._number + count):
            chance = random.Random(f"{self._seed} {number}")  # the same with every version of Python
            signs, steps, sides = list[int](), list[float](), (list[int](), list[int]())
            wider, faster = self._gains(number * self._pairs_each + 1)
            for each, value in zip(self._dimensions, self._values, strict=True):
                sign, part = (1 if chance.random() < 0.5 else -1), chance.random()
                distance = wider * each.c_end
                signs.append(sign)
                steps.append(faster * each.r_end * distance)
                for side, to in zip(sides, (sign, -sign), strict=True):
                    side.append(floor(min(each.inside(value + to * distance) + part, each.high)))
            proposal = Proposal(tuple(sides[0]), tuple(sides[1]))
            self._asked.append(_Asked(tuple(signs), tuple(steps), proposal.first, proposal.second))
            found.append(proposal)
        return found

    def _gains(self, k: int) -> tuple[float, float]:
        """c_k / c_end and R_k / r_end."""
        settings, last = self._settings, self._pairs
        shift = settings.a_ratio * last
        wider = (last / k) ** settings.gamma
        return wider, ((shift + last) / (shift + k)) ** settings.alpha / wider**2

    def tell(self, results: Sequence[float | None]) -> None:
        """See `Tuner`."""
        # All games of a proposal count, as pairs of their own would.
        counted = [
            (asked, self._pairs_each * result)
            for asked, result in zip(self._asked, results, strict=True)
            if result is not None
        ]
        self._number += len(self._asked)
        self._asked = []
        if not counted:
            return
        if self._adam is not None:
            self._adam.begin()
        for place, dimension in enumerate(self._dimensions):
            for asked, result in counted:
                self._slopes[place].add(dimension, asked.first[place], asked.second[place], result)
            moves = [(asked.steps[place], asked.signs[place] * result) for asked, result in counted]
            if self._adam is None:
                step = sum(step * gradient for step, gradient in moves)
            else:
                step = self._adam.step(place, moves)
            self._values[place] = dimension.inside(self._values[place] + step)

    def estimates(self) -> list[Estimate]:
        """The values, each with the interval in which the best value is, according to all games so far.

        All best values are in their intervals with `CONFIDENCE`; where nothing is known yet, the interval is the range.
        """
        critical = UNIT_ROOT * sqrt(-2 * log(1 - CONFIDENCE ** (1 / len(self._dimensions))))
        return [
            Estimate(value, *slope.interval(dimension, critical))
            for dimension, value, slope in zip(self._dimensions, self._values, self._slopes, strict=True)
        ]


class _Slope:
    """The slope of the strength along a dimension, by least squares: a straight line, as if strength were quadratic.

    A proposal with the points p and m has the mean result (p - m) * slope((p + m) / 2). What the other dimensions
    do is noise, since their signs are independent. The values move with the results, so that without any effect this is
    the regression of a random walk on itself, whose critical values are larger than usual (`UNIT_ROOT`).
    """

    def __init__(self) -> None:
        self._count = 0
        self._sums = [0.0] * 6
        """Of d^2, d^2 x, d^2 x^2, d r, d x r, r^2; d = p - m, x = (p + m) / 2 from the start, r the result."""

    def add(self, dimension: Dimension, first: int, second: int, result: float) -> None:
        """Count a proposal."""
        d, x = first - second, (first + second) / 2 - dimension.start
        self._count += 1
        values = (d * d, d * d * x, d * d * x * x, d * result, d * x * result, result * result)
        self._sums = [one + other for one, other in zip(self._sums, values, strict=True)]

    def interval(self, dimension: Dimension, critical: float) -> tuple[float, float]:
        """The interval outside which the slope points inwards, surely so.

        Args:
            dimension: The dimension.
            critical: Standard errors beyond which a slope is no luck, whichever the point.
        """
        d2, d2x, d2x2, dr, dxr, r2 = self._sums
        whole = dimension.low, dimension.high
        if self._count < LEAST_PROPOSALS or d2 == 0:
            return whole
        determinant = d2 * d2x2 - d2x**2
        is_line = determinant > 1e-9 * d2 * d2x2 > 0  # otherwise all points are one, as of two choices
        if is_line:
            level, rise = (d2x2 * dr - d2x * dxr) / determinant, (d2 * dxr - d2x * dr) / determinant
        else:
            level, rise = dr / d2, 0.0
        variance = max(0.0, r2 - level * dr - rise * dxr) / (self._count - 2)

        def sign(point: float) -> int:
            x = point - dimension.start
            square = (d2x2 - 2 * x * d2x + x * x * d2) / determinant if is_line else 1 / d2
            slope, error = level + rise * x, sqrt(max(0.0, variance * square))
            return 0 if abs(slope) <= critical * error else 1 if slope > 0 else -1

        points = [dimension.low + (dimension.high - dimension.low) * step / GRID for step in range(GRID + 1)]
        signs = [sign(point) for point in points]
        low = max((point for point, each in zip(points, signs, strict=True) if each > 0), default=dimension.low)
        high = min((point for point, each in zip(points, signs, strict=True) if each < 0), default=dimension.high)
        return (low, high) if low <= high else whole


class _Adam:
    """Means and mean squares of the gradients of rounds."""

    def __init__(self, count: int) -> None:
        self._rounds = 0
        self._means = [0.0] * count
        self._squares = [0.0] * count

    def begin(self) -> None:
        """Begin a round."""
        self._rounds += 1

    def step(self, place: int, moves: Sequence[tuple[float, float]]) -> float:
        """The step of a dimension after a round.

        Args:
            place: The dimension.
            moves: The plain step for each unit of the gradient, and the gradient, of each proposal.
        """
        gradient = sum(gradient for _, gradient in moves) / len(moves)
        length = sum(step for step, _ in moves) / sqrt(len(moves))
        self._means[place] += (1 - BETA_1) * (gradient - self._means[place])
        self._squares[place] += (1 - BETA_2) * (gradient**2 - self._squares[place])
        mean = self._means[place] / (1 - BETA_1**self._rounds)
        return length * mean / (sqrt(self._squares[place] / (1 - BETA_2**self._rounds)) + EPSILON)
