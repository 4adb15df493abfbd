"""BayesElo's estimate: a model with a draw margin, and virtual draws that pull players with few games to the others.

With a rating difference of x logits the probability of a win is 1 / (1 + exp(margin - x)) and of a loss
1 / (1 + exp(margin + x)); the rest is drawn. The margin gives the draw rate of the other model; estimated here, it
could diverge. All ratings are finite, because with virtual draws no player has won everything.

Sources: P. V. Rao, L. L. Kupper, "Ties in paired-comparison experiments" (1967); R. Coulom, "Bayesian Elo Rating",
https://www.remi-coulom.fr/Bayesian-Elo/.
"""

from collections.abc import Mapping

import numpy as np

from fukayomi.arena.ratings.estimate import Estimate
from fukayomi.arena.ratings.fit import logistic, make_design, solve_linear
from fukayomi.arena.ratings.tally import Floats, Pairings

PRIOR_DRAWS = 2.0
"""Virtual draws per player, if all play equally many games: half from its own prior, half from its opponents' priors.
They are spread over the opponents in proportion to the games, and over both colours evenly."""

_ROUNDS = 200
_TOLERANCE = 1e-10
_MOST_DRAWS = 0.99  # keeps the margin finite


def bayes_ratings(pairings: Pairings, found: Estimate, anchors: Mapping[int, float]) -> Floats:
    """Ratings [n] in logits, with the anchors or averages of `found`.

    Args:
        pairings: All games.
        found: Ratings by maximum likelihood without a prior.
        anchors: Given ratings by player, in logits.
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
    """The games with every pairing in both colours, and their draws [K] including the virtual ones."""
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
    """Ratings [n] of maximum likelihood, by Newton's method. In this model a draw is a win and a loss."""
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
