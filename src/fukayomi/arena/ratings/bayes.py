"""BayesElo's estimate: a model with a draw margin, and virtual draws that pull players with few games to the others.

With a rating difference of x logits the probability of a win is 1 / (1 + exp(margin - x)) and of a loss
1 / (1 + exp(margin + x)); the rest is drawn. The margin gives the draw rate of the other model; estimated here, it
could diverge. All ratings are finite, because with virtual draws no player has won everything.

Sources: P. V. Rao, L. L. Kupper, "Ties in paired-comparison experiments" (1967); R. Coulom, "Bayesian Elo Rating",
https://www.remi-coulom.fr/Bayesian-Elo/.
"""

from collections.abc import Mapping

import numpy as np

from fukayomi.arena.ratings.design import logistic, make_design
from fukayomi.arena.ratings.estimate import Estimate
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
    fixed = dict(anchors) | dict.fromkeys(pools.first_members(pools.without(anchors)), 0.0)
    ratings = _maximise(_add_prior(pairings), fixed, None if found.has_advantage else found.advantage, found.draw_rate)
    for pool in pools.without(anchors):
        members = found.groups.members(int(found.groups.core[pool]))
        if len(members) == 1:
            members = pools.members(pool)
        ratings[found.groups.pool == pool] += (found.ratings[members] - ratings[members]).mean()
    return ratings


def _add_prior(pairings: Pairings) -> tuple[Pairings, Floats]:
    """The games with every pairing in both colours, and their draws [K] including the virtual ones."""
    forward = np.stack([pairings.first, pairings.second])
    ways, place = np.unique(np.hstack([forward, forward[::-1]]), axis=1, return_inverse=True)
    place = place.reshape(2, -1)  # of each pairing, and of the same players with swapped colours
    wins, draws, losses = np.zeros((3, ways.shape[1]), np.int64)
    wins[place[0]], draws[place[0]], losses[place[0]] = pairings.wins, pairings.draws, pairings.losses
    met = np.zeros(ways.shape[1])
    for one in place:
        met[one] += pairings.games  # no two pairings are the same
    played = pairings.of_player(pairings.games, pairings.games)
    both = Pairings(pairings.names, ways[0], ways[1], wins, draws, losses)
    share = met * (1 / played[ways[0]] + 1 / played[ways[1]])
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
        gradient = design.gradient(up * (1 - above) - down * (1 - below))
        step = design.solve(up * above * (1 - above) + down * below * (1 - below), gradient, ridge=0)
        change = float(np.abs(design.differences(found + step) - gaps).max())
        if change < _TOLERANCE:
            break
        found += step * np.log1p(change) / change
    return design.unpack(found)[0][0]
