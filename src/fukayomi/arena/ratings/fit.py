"""Maximum likelihood in the logistic (Bradley-Terry) model, for many sets of results at once.

Ratings are in logits: with a difference x the expected score is 1 / (1 + exp(-x)). The likelihood is concave, and has
its maximum where expected points equal scored points, for each player and for the first move. Newton's method finds it
to machine precision.

Source: R. A. Bradley, M. E. Terry, "Rank analysis of incomplete block designs" (1952); with the first-move advantage as
in R. R. Davidson, R. J. Beaver, "On extending the Bradley-Terry model to incorporate within-pair order effects" (1977).
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fukayomi.arena.ratings.design import Design, logistic, make_design
from fukayomi.arena.ratings.tally import Floats, Integers, Pairings

ADVANTAGE_LIMIT = 12.0
"""Logits (2,100 points). A larger first-move advantage means that it won every informative game."""

_ROUNDS = 200
_TOLERANCE = 1e-6  # logits; the step that is smaller leaves its square
_UNDETERMINED = 1e-9


def determines_advantage(pairings: Pairings, fixed: Mapping[int, float]) -> bool:
    """True if the schedule separates the first-move advantage from the players' strength."""
    if not len(pairings.first):
        return False
    games = pairings.games[None, :].astype(np.float64)
    players = make_design(pairings, fixed, 0.0)
    # The players' block has full rank: each player has games, and each group a fixed rating. Its Schur complement is
    # the information about the advantage alone.
    shared, own = players.gradient(games), float(games.sum())
    alone = own - float(shared[0] @ players.solve(games, shared, ridge=0)[0])
    return alone > _UNDETERMINED * own


def solve(design: Design, games: Floats | Integers, points: Floats, start: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The parameters with expected points equal to scored points.

    Args:
        design: The parameters.
        games: [K] games of each pairing.
        points: [B, K] points of the first movers.
        start: [m] initial parameters.

    Returns:
        Parameters [B, m], and whether they are a maximum [B]. If not, there is no finite maximum although the players
        are connected: the first-move advantage would grow without limit.
    """
    found = np.tile(start, (len(points), 1))
    converged = np.full(len(points), design.size == 0)
    active = np.flatnonzero(~converged)
    for round_number in range(_ROUNDS):
        if not len(active):
            break
        now = found[active]
        leads = design.differences(now)
        expected = logistic(leads)
        gradient = design.gradient(points[active] - games * expected)
        weights = games * expected * (1 - expected)
        step = design.solve(weights[:1] if round_number == 0 else weights, gradient)  # all begin with the same ones
        # With this damping Newton's method converges from anywhere in logistic models; it vanishes near the root.
        change = np.abs(design.differences(now + step) - leads).max(axis=1)
        damping = np.divide(np.log1p(change), change, out=np.ones_like(change), where=change > 0)
        found[active] = now + step * damping[:, None]
        is_done = change < _TOLERANCE
        converged[active[is_done]] = True
        if design.has_advantage:
            is_done |= np.abs(found[active, -1]) > ADVANTAGE_LIMIT
        active = active[~is_done]
    if design.has_advantage:
        converged &= np.abs(found[:, -1]) <= ADVANTAGE_LIMIT
    return found, converged
