"""BayesElo's estimate: a model with a margin for draws, and virtual draws that keep players of few games near the rest.

Of players whose strengths differ by x logits the stronger wins with the chance 1 / (1 + exp(margin - x)) and loses with
1 / (1 + exp(margin + x)); the rest is drawn (Rao and Kupper's model). The margin is such that equals draw as often as
in the other model: estimated here, it could run away. Every rating is finite: nobody has won everything once the
virtual draws are added.
"""

from collections.abc import Mapping

import numpy as np

from fukayomi.arena.ratings.estimate import Estimate
from fukayomi.arena.ratings.fit import logistic, make_design, solve_linear
from fukayomi.arena.ratings.tally import Floats, Pairings

PRIOR_DRAWS = 2.0
"""Virtual draws of a player, in a league where everybody plays as much: half of them by its own prior, half by the
others'. A player's are spread over its opponents in proportion to the games, and over both colours evenly."""

_ROUNDS = 200
_TOLERANCE = 1e-10
_MOST_DRAWS = 0.99  # or the margin would be infinite


def bayes_ratings(pairings: Pairings, found: Estimate, anchors: Mapping[int, float]) -> Floats:
    """Ratings [n] in logits, with the same anchors or averages as those of `found`.

    Args:
        pairings: All games.
        found: The likeliest ratings, by the other model and without a prior.
        anchors: Players whose ratings are given, in logits.
    """
    pools = found.groups.pools_as_groups()
    fixed = dict(anchors) | {int(pools.members(pool)[0]): 0.0 for pool in pools.without(anchors)}
    ratings = _maximise(_add_prior(pairings), fixed, None if found.has_advantage else found.advantage, found.draw_rate)
    for pool in pools.without(anchors):
        members = found.groups.members(int(found.groups.core[pool]))
        if len(members) == 1:
            members = pools.members(pool)
        ratings[found.groups.pool == pool] += (found.ratings[members] - ratings[members]).mean()
    return ratings


def _add_prior(pairings: Pairings) -> tuple[Pairings, Floats]:
    """The games with every pairing in both colours, and the draws [K] among them, the virtual ones included."""
    count = len(pairings.names)
    square = np.zeros((3, count, count), np.int64)
    square[:, pairings.first, pairings.second] = pairings.wins, pairings.draws, pairings.losses
    met = square.sum(axis=0) + square.sum(axis=0).T
    played = met.sum(axis=1)
    first, second = np.nonzero(met)
    both = Pairings(pairings.names, first, second, *square[:, first, second])
    share = met[first, second] * (1 / played[first] + 1 / played[second])
    return both, both.draws + PRIOR_DRAWS / 4 * share


def _maximise(
    games: tuple[Pairings, Floats], fixed: Mapping[int, float], advantage: float | None, draw_rate: float
) -> Floats:
    """Ratings [n] of the greatest likelihood, by Newton's method. A draw counts as a win and a loss by the margin."""
    pairings, draws = games
    draw_rate = min(draw_rate, _MOST_DRAWS)
    margin = np.log((1 + draw_rate) / (1 - draw_rate))
    up, down = pairings.wins + draws, pairings.losses + draws
    design = make_design(pairings, fixed, advantage)
    found = np.zeros((1, design.size))
    for _ in range(_ROUNDS if design.size else 0):
        gaps = design.differences(found)
        above, below = logistic(gaps - margin), logistic(-gaps - margin)
        hessian = design.hessian(up * above * (1 - above) + down * below * (1 - below))
        step = solve_linear(hessian, design.gradient(up * (1 - above) - down * (1 - below)))
        change = float(np.abs(design.differences(found + step) - gaps).max())
        if change < _TOLERANCE:
            break
        found += step * np.log1p(change) / change
    return design.unpack(found)[0][0]
