"""Maximum likelihood in the logistic (Bradley-Terry) model, for many sets of results at once.

Ratings are in logits: with a difference x the expected score is 1 / (1 + exp(-x)). The likelihood is concave, and has
its maximum where expected points equal scored points, for each player and for the first move. Newton's method finds it
to machine precision.

Source: R. A. Bradley, M. E. Terry, "Rank analysis of incomplete block designs" (1952); with the first-move advantage as
in R. R. Davidson, R. J. Beaver, "On extending the Bradley-Terry model to incorporate within-pair order effects" (1977).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special  # pyright: ignore[reportMissingTypeStubs]

from fukayomi.arena.ratings.tally import Floats, Integers, Pairings

ADVANTAGE_LIMIT = 12.0
"""Logits (2,100 points). A larger first-move advantage means that it won every informative game."""

_ROUNDS = 200
_TOLERANCE = 1e-11  # logits
_UNDETERMINED = 1e-9
_RIDGE = 1e-10  # games; keeps the Hessian invertible in spite of rounding


def logistic(values: Floats) -> Floats:
    """1 / (1 + exp(-x))."""
    return special.expit(values)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def solve_linear(matrices: Floats, vectors: Floats) -> Floats:
    """The x [..., m] with matrices [..., m, m] @ x = vectors [..., m]."""
    return np.linalg.solve(matrices, vectors[..., None])[..., 0].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Design:
    """The m parameters of a model: the ratings of some of the n players, and possibly the first-move advantage."""

    first: Integers
    """[K] the player who moves first in each pairing."""
    second: Integers
    """[K] the player who moves second."""
    free: Integers
    """[f] the players whose ratings are the first f parameters."""
    has_advantage: bool
    """Whether the first-move advantage is the last parameter."""
    fixed: Floats
    """[n] ratings of the players that are not free."""
    advantage: float
    """The first-move advantage if it is fixed."""

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.free) + self.has_advantage

    def unpack(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Ratings [B, n] and advantages [B] from parameters [B, m]."""
        ratings = np.tile(self.fixed, (len(parameters), 1))
        ratings[:, self.free] = parameters[:, : len(self.free)]
        advantage = parameters[:, -1] if self.has_advantage else np.full(len(parameters), self.advantage)
        return ratings, advantage

    def pack(self, ratings: Floats, advantage: float) -> Floats:
        """Parameters [m] from ratings [n]."""
        return np.append(ratings[self.free], [advantage] * self.has_advantage)

    def differences(self, parameters: Floats) -> Floats:
        """[B, K] lead of the first mover in each pairing, with the first-move advantage."""
        ratings, advantage = self.unpack(parameters)
        return ratings[:, self.first] - ratings[:, self.second] + advantage[:, None]

    def gradient(self, residuals: Floats) -> Floats:
        """[B, m] gradient of the log-likelihood from the residuals [B, K] (points minus expected points)."""
        square = self._square(residuals)
        by_player = (square.sum(axis=2) - square.sum(axis=1))[:, self.free]
        return np.column_stack([by_player, square.sum(axis=(1, 2))]) if self.has_advantage else by_player

    def hessian(self, weights: Floats) -> Floats:
        """[B, m, m] negative Hessian of the log-likelihood from the weights [B, K] of the pairings."""
        square = self._square(weights)
        first, second = square.sum(axis=2), square.sum(axis=1)
        found = np.zeros((len(weights), self.size, self.size))
        count = len(self.free)
        found[:, :count, :count] = -(square + square.transpose(0, 2, 1))[:, self.free[:, None], self.free]
        diagonal = np.arange(count)
        found[:, diagonal, diagonal] += (first + second)[:, self.free]
        if self.has_advantage:
            found[:, :count, -1] = found[:, -1, :count] = (first - second)[:, self.free]
            found[:, -1, -1] = first.sum(axis=1)
        return found

    def _square(self, values: Floats) -> Floats:
        """[B, n, n], by first and second mover."""
        count = len(self.fixed)
        square = np.zeros((len(values), count, count))
        square[:, self.first, self.second] = values
        return square


def make_design(pairings: Pairings, fixed: Mapping[int, float], advantage: float | None) -> Design:
    """The parameters of a model.

    Args:
        pairings: The games.
        fixed: Given ratings by player; at least one per group.
        advantage: Fixed first-move advantage; None makes it a parameter.
    """
    values = np.zeros(len(pairings.names))
    values[list(fixed)] = list(fixed.values())
    free = np.array([player for player in range(len(values)) if player not in fixed], np.int64)
    return Design(pairings.first, pairings.second, free, advantage is None, values, advantage or 0.0)


def determines_advantage(pairings: Pairings, fixed: Mapping[int, float]) -> bool:
    """Whether the schedule separates the first-move advantage from the players' strength."""
    if not len(pairings.first):
        return False
    hessian = make_design(pairings, fixed, None).hessian(pairings.games[None, :].astype(np.float64))[0]
    players, shared, own = hessian[:-1, :-1], hessian[:-1, -1], float(hessian[-1, -1])
    # The players' block has full rank: each player has games, and each group a fixed rating. Its Schur complement is
    # the information about the advantage alone.
    alone = own - float(shared @ solve_linear(players, shared))
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
    for _ in range(_ROUNDS):
        if not len(active):
            break
        now = found[active]
        leads = design.differences(now)
        expected = logistic(leads)
        hessian = design.hessian(games * expected * (1 - expected)) + _RIDGE * np.eye(design.size)
        step = solve_linear(hessian, design.gradient(points[active] - games * expected))
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
