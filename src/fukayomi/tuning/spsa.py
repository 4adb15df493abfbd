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
from math import floor, sqrt
from statistics import NormalDist
from typing import Annotated

from pydantic import Field

from fukayomi.settings import Settings
from fukayomi.tuning.parameters import Dimension, Estimate, Proposal

CONFIDENCE = 0.95
"""Probability that luck alone keeps all parameters within their intervals."""
BETA_1, BETA_2 = 0.9, 0.99
"""Adam's decay of the mean and of the mean square, by rounds (D. P. Kingma, J. Ba: arXiv:1412.6980)."""
EPSILON = 1e-8
MEMORY = 100
"""Rounds after which Adam's mean has forgotten a gradient."""


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
        self._variances = [0.0] * len(self._dimensions)
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
            for each, value in zip(self._dimensions, self._values, strict=True):
                sign, part = (1 if chance.random() < 0.5 else -1), chance.random()
                distance, rate = self._gains(each, min(self._pairs, number * self._pairs_each + 1))
                signs.append(sign)
                steps.append(rate * distance)
                for side, to in zip(sides, (sign, -sign), strict=True):
                    side.append(floor(min(each.inside(value + to * distance) + part, each.high)))
            self._asked.append(_Asked(tuple(signs), tuple(steps)))
            found.append(Proposal(tuple(sides[0]), tuple(sides[1])))
        return found

    def _gains(self, dimension: Dimension, k: int) -> tuple[float, float]:
        """c_k and R_k."""
        settings, last = self._settings, self._pairs
        shift = settings.a_ratio * last
        wider = (last / k) ** settings.gamma
        return (
            dimension.c_end * wider,
            dimension.r_end / wider**2 * ((shift + last) / (shift + k)) ** settings.alpha,
        )

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
        for place, dimension in enumerate(self._dimensions):
            moves = [(asked.steps[place], asked.signs[place] * result) for asked, result in counted]
            if self._adam is None:
                step = sum(step * gradient for step, gradient in moves)
                self._variances[place] += sum((step * gradient) ** 2 for step, gradient in moves)
            else:
                step, self._variances[place] = self._adam.step(place, moves)
            self._values[place] = dimension.inside(self._values[place] + step)

    def estimates(self) -> list[Estimate]:
        """The values, each with the distance within which luck alone would have brought it from its start.

        If no parameter mattered, signs would be independent of results, and a value a sum of independent steps whose
        squares are known. All starts are then within the intervals with `CONFIDENCE`: a start outside is no luck.
        """
        share = CONFIDENCE ** (1 / len(self._dimensions))
        sigmas = NormalDist().inv_cdf((1 + share) / 2)
        return [
            Estimate(value, dimension.inside(value - reach), dimension.inside(value + reach))
            for dimension, value, variance in zip(self._dimensions, self._values, self._variances, strict=True)
            for reach in (sigmas * sqrt(variance),)
        ]


class _Adam:
    """Means and mean squares of the gradients of rounds, and the variance of the sum of all steps."""

    def __init__(self, count: int) -> None:
        self._rounds = [0] * count
        self._means = [0.0] * count
        self._squares = [0.0] * count
        self._weights = [list[float]() for _ in range(count)]
        """How far the gradient of each of the last rounds has moved the value, for each unit of it."""
        self._noises = [list[float]() for _ in range(count)]
        """The variances of these gradients."""
        self._settled = [0.0] * count
        """Variance of the steps that follow from earlier rounds."""

    def step(self, place: int, moves: Sequence[tuple[float, float]]) -> tuple[float, float]:
        """The step of a dimension after a round, and the variance of all steps so far by luck alone.

        Args:
            place: The dimension.
            moves: The plain step for each unit of the gradient, and the gradient, of each proposal.
        """
        count = len(moves)
        gradient = sum(gradient for _, gradient in moves) / count
        length = sum(step for step, _ in moves) / sqrt(count)
        self._rounds[place] += 1
        number = self._rounds[place]
        self._means[place] += (1 - BETA_1) * (gradient - self._means[place])
        self._squares[place] += (1 - BETA_2) * (gradient**2 - self._squares[place])
        mean = self._means[place] / (1 - BETA_1**number)
        scale = length / (sqrt(self._squares[place] / (1 - BETA_2**number)) + EPSILON)
        weights, noises = self._weights[place], self._noises[place]
        weights.append(0.0)
        noises.append(sum(gradient**2 for _, gradient in moves) / count**2)
        share = scale * (1 - BETA_1) / (1 - BETA_1**number)
        for back in range(1, len(weights) + 1):
            weights[-back] += share * BETA_1 ** (back - 1)
        if len(weights) > MEMORY:
            self._settled[place] += weights.pop(0) ** 2 * noises.pop(0)
        variance = self._settled[place] + sum(w**2 * n for w, n in zip(weights, noises, strict=True))
        return mean * scale, variance
