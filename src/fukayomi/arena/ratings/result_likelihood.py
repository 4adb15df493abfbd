"""The ratings under which the very wins, draws and losses are the likeliest, by the model of draws.py.

A draw is a result of its own here, and not half a point.

The parameters are those of a design and v = log nu, of the draws. The score p that a gap promises is the mean of the
points, v a natural parameter; so Fisher's information has nothing across the two, and scoring climbs in both apart:

- a gap's pull, points - p games, counts 1 + d0 / root times; so does its information, p (1 - p) a game;
- v is pulled by the draws beyond those expected, and by what a score beyond the expected one tells of draws.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.arena.ratings.draws import draw_chances, level_and_root
from fukayomi.arena.ratings.fit import Design, logistic, solve_linear
from fukayomi.arena.ratings.tally import Floats, Integers

MOST_DRAWS = 0.999
"""The greatest draw rate of equals that is estimated here. Where the stronger never lost, the likeliest one would be 1;
near 1 the likelihood has edges."""

_ROUNDS = 100
_TOLERANCE = 1e-9  # logits
_OVERSHOT = 0.5
_RIDGE = 1e-10  # games


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Results of K pairings in each of B replays.

    Attributes:
        games: [K].
        points: [B, K] what who moved first scored.
        draws: [B, K].
    """

    games: Integers
    points: Floats
    draws: Integers

    def select(self, which: NDArray[np.bool_] | Integers) -> "Outcomes":
        """Some of the replays."""
        return Outcomes(self.games, self.points[which], self.draws[which])


def solve_results(
    design: Design, outcomes: Outcomes, start: Floats, draw_rates: Floats, *, has_draw_rate: bool
) -> tuple[Floats, Floats]:
    """The parameters under which the results are the likeliest.

    There are some wherever the points have some. Where everything was drawn, or nothing, and where the draw rate is
    given as 0, they are those of the points. Few games of which nearly all were drawn have a likelihood with edges,
    along which scoring is slow: where it has not arrived after its rounds, it stays.

    Args:
        design: Which parameters there are.
        outcomes: The results.
        start: [B, m] the parameters of the points.
        draw_rates: [B] those of equals that go with them, or the given one.
        has_draw_rate: Whether the draw rate is estimated.

    Returns:
        Parameters [B, m] and draw rates [B].
    """
    drawn = outcomes.draws.sum(axis=1)
    is_open = (drawn > 0) & (drawn < outcomes.games.sum()) if has_draw_rate else draw_rates > 0
    active = np.flatnonzero(is_open & (len(outcomes.games) > 0))
    rates = np.minimum(draw_rates[active], MOST_DRAWS)
    climb = _Climb(design, outcomes.select(active), has_draw_rate)
    top = climb.run(np.column_stack([start[active], _log_nu(rates)]))
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
class _Climb:
    """Fisher scoring. Its places are [B, m + 1]: the design's parameters, then log nu."""

    design: Design
    outcomes: Outcomes
    has_draw_rate: bool

    def run(self, places: Floats) -> Floats:
        """From given places as far as it goes up."""
        places = places.copy()
        steps, slopes = np.zeros_like(places), np.zeros(len(places))
        active = np.arange(len(places))
        for _ in range(_ROUNDS):
            if not len(active):
                break
            now, last = places[active], steps[active]
            pull, ahead = self._look(now, self.outcomes.select(active))
            # Past the top of the last step, on the way down almost as steeply as it went up: half of the way back.
            is_past = (pull * last).sum(axis=1) < -_OVERSHOT * slopes[active]
            steps[active] = np.where(is_past[:, None], last / 2, ahead)
            slopes[active] = np.where(is_past, slopes[active] / 2, (pull * ahead).sum(axis=1))
            places[active] = now + np.where(is_past[:, None], -last / 2, ahead)
            active = active[is_past | (self._size(now, ahead) >= _TOLERANCE)]
        return places

    def _look(self, places: Floats, outcomes: Outcomes) -> tuple[Floats, Floats]:
        """The slope of the log likelihood at some places, and the steps to take from there."""
        design, games, rate = self.design, outcomes.games, _draw_rate(places[:, -1:])
        expected = logistic(design.differences(places[:, :-1]))
        level, root = level_and_root(expected, rate)
        lift, draws = rate / root, draw_chances(expected, rate)
        excess = outcomes.points - games * expected
        pull, ahead = np.zeros_like(places), np.zeros_like(places)
        pull[:, :-1] = design.gradient((1 + lift) * excess)
        information = design.hessian(games * (1 + lift) * level / 4) + _RIDGE * np.eye(design.size)
        ahead[:, :-1] = solve_linear(information, pull[:, :-1])
        if self.has_draw_rate:
            pull[:, -1] = (outcomes.draws - games * draws + 2 * lift * (2 * expected - 1) * excess).sum(axis=1)
            told = (games * draws * level * (1 - rate) ** 2 / (root * (rate + root))).sum(axis=1) + _RIDGE
            most = _log_nu(np.array(MOST_DRAWS))
            ahead[:, -1] = np.minimum(pull[:, -1] / told, most - places[:, -1])
        size = self._size(places, ahead)
        return pull, ahead * np.divide(np.log1p(size), size, out=np.ones_like(size), where=size > 0)[:, None]

    def _size(self, places: Floats, steps: Floats) -> Floats:
        """[B] by how much steps change a gap, or log nu, at most."""
        before = self.design.differences(places[:, :-1])
        after = self.design.differences(places[:, :-1] + steps[:, :-1])
        return np.maximum(np.abs(after - before).max(axis=1), np.abs(steps[:, -1]))
