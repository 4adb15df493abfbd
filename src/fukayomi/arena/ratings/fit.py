"""Maximum likelihood of the logistic model, for many sets of results at once.

Ratings are in logits here: a difference x promises the score 1 / (1 + exp(-x)). The root of "expected points = scored
points", for each player and for the first move, is the maximum of the likelihood, which is concave; Newton's method
finds it to the last digits.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.arena.ratings.tally import Floats, Integers, Pairings

ADVANTAGE_LIMIT = 12.0
"""Logits. A first move that is worth more (2,100 points) won every game that could tell."""

_ROUNDS = 200
_TOLERANCE = 1e-11  # logits
_UNDETERMINED = 1e-9
_RIDGE = 1e-10  # games; against a Hessian that rounding makes singular


def logistic(values: Floats) -> Floats:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-np.clip(values, -500, 500)))


def solve_linear(matrices: Floats, vectors: Floats) -> Floats:
    """[..., m] the x of matrices [..., m, m] @ x = vectors [..., m]."""
    return np.linalg.solve(matrices, vectors[..., None])[..., 0].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Design:
    """Which of the n players' ratings, and whether the first move's worth, are parameters; there are m of them.

    Attributes:
        first: [K] who moves first in each pairing.
        second: [K] who moves second.
        free: [f] the players whose ratings are parameters, the first f of them.
        has_advantage: Whether the first move's worth is one as well, the last.
        fixed: [n] the ratings of the players that are not free.
        advantage: What the first move is worth, if it is fixed.
    """

    first: Integers
    second: Integers
    free: Integers
    has_advantage: bool
    fixed: Floats
    advantage: float

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.free) + self.has_advantage

    def unpack(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Ratings [B, n] and advantages [B] of parameters [B, m]."""
        ratings = np.tile(self.fixed, (len(parameters), 1))
        ratings[:, self.free] = parameters[:, : len(self.free)]
        advantage = parameters[:, -1] if self.has_advantage else np.full(len(parameters), self.advantage)
        return ratings, advantage

    def pack(self, ratings: Floats, advantage: float) -> Floats:
        """Parameters [m] of ratings [n]."""
        return np.append(ratings[self.free], [advantage] * self.has_advantage)

    def differences(self, parameters: Floats) -> Floats:
        """[B, K] how far who moves first is ahead."""
        ratings, advantage = self.unpack(parameters)
        return ratings[:, self.first] - ratings[:, self.second] + advantage[:, None]

    def gradient(self, residuals: Floats) -> Floats:
        """[B, m] what residuals [B, K] pull at each parameter."""
        square = self._square(residuals)
        by_player = (square.sum(axis=2) - square.sum(axis=1))[:, self.free]
        return np.column_stack([by_player, square.sum(axis=(1, 2))]) if self.has_advantage else by_player

    def hessian(self, weights: Floats) -> Floats:
        """[B, m, m] how the pull changes with each parameter, of weights [B, K]."""
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
        """[B, n, n], by who moves first and who second."""
        count = len(self.fixed)
        square = np.zeros((len(values), count, count))
        square[:, self.first, self.second] = values
        return square


def make_design(pairings: Pairings, fixed: Mapping[int, float], advantage: float | None) -> Design:
    """The parameters of a model.

    Args:
        pairings: The games.
        fixed: Ratings that are given; at least one in each group.
        advantage: Of the first move; None: it is a parameter.
    """
    values = np.zeros(len(pairings.names))
    values[list(fixed)] = list(fixed.values())
    free = np.array([player for player in range(len(values)) if player not in fixed], np.int64)
    return Design(pairings.first, pairings.second, free, advantage is None, values, advantage or 0.0)


def determines_advantage(pairings: Pairings, fixed: Mapping[int, float]) -> bool:
    """Whether the schedule can tell the worth of the first move from the players' strength."""
    if not len(pairings.first):
        return False
    hessian = make_design(pairings, fixed, None).hessian(pairings.games[None, :].astype(np.float64))[0]
    players, shared, own = hessian[:-1, :-1], hessian[:-1, -1], float(hessian[-1, -1])
    # The players' part has full rank: each has games, and each group one fixed rating. What is left of the advantage's
    # own part when theirs is taken out is how much the schedule tells of it alone.
    alone = own - float(shared @ solve_linear(players, shared))
    return alone > _UNDETERMINED * own


def solve(design: Design, games: Floats | Integers, points: Floats, start: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The parameters under which as many points are expected as were scored.

    Args:
        design: Which parameters there are.
        games: [K].
        points: [B, K] what who moved first scored.
        start: [m] parameters to start from.

    Returns:
        Parameters [B, m], and which of them are a maximum [B]. The others have no finite one, though the players are
        connected: the first move would have to be worth more and more.
    """
    found = np.tile(start, (len(points), 1))
    converged = np.full(len(points), design.size == 0)
    active = np.flatnonzero(~converged)
    for _ in range(_ROUNDS):
        if not len(active):
            break
        now = found[active]
        expected = logistic(design.differences(now))
        hessian = design.hessian(games * expected * (1 - expected)) + _RIDGE * np.eye(design.size)
        step = solve_linear(hessian, design.gradient(points[active] - games * expected))
        # This damping makes Newton's method converge from anywhere for logistic models, and fades near the root.
        change = np.abs(design.differences(now + step) - design.differences(now)).max(axis=1)
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
