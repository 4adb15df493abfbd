"""Maximum likelihood of wins, draws and losses under the draw model of draws.py.

A draw is a result of its own here, not half a point.

The parameters are those of a design and v = log nu of the draw model. The expected score p of a rating difference is
the mean of the points and v is a natural parameter, so their Fisher information has no cross terms, and Fisher scoring
treats the two separately:

- the gradient of a difference, points - p games, and its information, p (1 - p) per game, are both multiplied by
  1 + d0 / root;
- the gradient of v is the excess of draws over expected draws, plus a term from the excess of points.

Source: R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments"
(1970).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.arena.ratings.design import RIDGE, Design, logistic
from fukayomi.arena.ratings.draws import draw_chances, draw_root, level_of
from fukayomi.arena.ratings.tally import Floats, Integers

MOST_DRAWS = 0.999
"""Upper limit of the estimated draw rate. If the stronger player never lost, the estimate would be 1; near 1 the
likelihood has sharp ridges."""

_ROUNDS = 100
_TOLERANCE = 1e-9  # logits
_OVERSHOT = 0.5


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Results of K pairings in each of B simulations."""

    games: Integers
    """[K] games."""
    points: Floats
    """[B, K] points of the first movers."""
    draws: Integers
    """[B, K] draws."""

    def select(self, which: NDArray[np.bool_] | Integers) -> "Outcomes":
        """The simulations of a mask or index."""
        return Outcomes(self.games, self.points[which], self.draws[which])


def solve_results(
    design: Design, outcomes: Outcomes, start: Floats, draw_rates: Floats, *, has_draw_rate: bool
) -> tuple[Floats, Floats]:
    """The parameters with the greatest likelihood of the results.

    They exist wherever the parameters for points exist, and equal these if everything or nothing was drawn or the draw
    rate is fixed at 0. With few games, nearly all drawn, the likelihood has sharp ridges along which scoring is slow;
    it then stops after its last round.

    Args:
        design: The parameters.
        outcomes: The results.
        start: [B, m] parameters fitted to the points.
        draw_rates: [B] the draw rates that belong to them, or the fixed one.
        has_draw_rate: Whether the draw rate is estimated.

    Returns:
        Parameters [B, m] and draw rates [B].
    """
    drawn = outcomes.draws.sum(axis=1)
    is_open = (drawn > 0) & (drawn < outcomes.games.sum()) if has_draw_rate else draw_rates > 0
    active = np.flatnonzero(is_open & (len(outcomes.games) > 0))
    rates = np.minimum(draw_rates[active], MOST_DRAWS)
    scoring = _FisherScoring(design, outcomes.select(active), has_draw_rate)
    top = scoring.run(np.column_stack([start[active], _log_nu(rates)]))
    found, rates_found = start.copy(), draw_rates.copy()
    found[active] = top[:, :-1]
    if has_draw_rate:
        rates_found[active] = _draw_rate(top[:, -1])
    return found, rates_found


def _log_nu(draw_rates: Floats) -> Floats:
    return np.log(2 * draw_rates / (1 - draw_rates))


def _draw_rate(log_nu: Floats) -> Floats:
    return 1 / (1 + 2 * np.exp(-log_nu))


@dataclass(frozen=True, eq=False)
class _FisherScoring:
    """Fisher scoring of theta [B, m + 1]: the parameters of the design, then log nu."""

    design: Design
    outcomes: Outcomes
    has_draw_rate: bool

    def run(self, theta: Floats) -> Floats:
        """Climb from given values [B, m + 1] to the maximum."""
        theta = theta.copy()
        steps, slopes = np.zeros_like(theta), np.zeros(len(theta))
        active = np.arange(len(theta))
        for _ in range(_ROUNDS):
            if not len(active):
                break
            now, last = theta[active], steps[active]
            gradient, step = self._evaluate(now, self.outcomes.select(active))
            # The step overshot: the slope is now almost as steep downward. Go half of it back.
            is_past = (gradient * last).sum(axis=1) < -_OVERSHOT * slopes[active]
            steps[active] = np.where(is_past[:, None], last / 2, step)
            slopes[active] = np.where(is_past, slopes[active] / 2, (gradient * step).sum(axis=1))
            theta[active] = now + np.where(is_past[:, None], -last / 2, step)
            active = active[is_past | (self._size(now, step) >= _TOLERANCE)]
        return theta

    def _evaluate(self, theta: Floats, outcomes: Outcomes) -> tuple[Floats, Floats]:
        """The gradient of the log-likelihood, [B, m + 1], and the next steps."""
        design, games, rate = self.design, outcomes.games, _draw_rate(theta[:, -1:])
        expected = logistic(design.differences(theta[:, :-1]))
        level = level_of(expected)
        root = draw_root(level, rate)
        lift, draws = rate / root, draw_chances(expected, rate)
        excess = outcomes.points - games * expected
        gradient, step = np.zeros_like(theta), np.zeros_like(theta)
        gradient[:, :-1] = design.gradient((1 + lift) * excess)
        step[:, :-1] = design.solve(games * (1 + lift) * level / 4, gradient[:, :-1])
        if self.has_draw_rate:
            gradient[:, -1] = (outcomes.draws - games * draws + 2 * lift * (2 * expected - 1) * excess).sum(axis=1)
            information_nu = (games * draws * level * (1 - rate) ** 2 / (root * (rate + root))).sum(axis=1) + RIDGE
            most = _log_nu(np.array(MOST_DRAWS))
            step[:, -1] = np.minimum(gradient[:, -1] / information_nu, most - theta[:, -1])
        size = self._size(theta, step)
        return gradient, step * np.divide(np.log1p(size), size, out=np.ones_like(size), where=size > 0)[:, None]

    def _size(self, theta: Floats, steps: Floats) -> Floats:
        """[B] the largest change of a rating difference, or of log nu, by the steps."""
        before = self.design.differences(theta[:, :-1])
        after = self.design.differences(theta[:, :-1] + steps[:, :-1])
        return np.maximum(np.abs(after - before).max(axis=1), np.abs(steps[:, -1]))
