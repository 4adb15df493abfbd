"""The parameters of the logistic model, and its linear equations.

Each pairing concerns two players, so all matrices are sparse. Equations of few parameters are solved as dense matrices,
those of many parameters as sparse ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse, special  # pyright: ignore[reportMissingTypeStubs]
from scipy.sparse.linalg import splu  # pyright: ignore

from fukayomi.arena.ratings.tally import Floats, Integers, Pairings

RIDGE = 1e-10
"""Games; keeps the Hessian invertible in spite of rounding."""
MOST_DENSE = 80
"""Parameters up to which equations are solved as dense matrices: larger ones make a BLAS library start threads."""

Sparse = Any
"""A matrix of scipy.sparse, which has no types."""

PRECISION = 1e-13
"""Relative residual of iterative solutions."""
_MOST_ROUNDS = 300


def logistic(values: Floats) -> Floats:
    """1 / (1 + exp(-x))."""
    return special.expit(values)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def solve_linear(matrices: Floats, vectors: Floats) -> Floats:
    """The x [..., m] with matrices [..., m, m] @ x = vectors [..., m]."""
    return np.linalg.solve(matrices, vectors[..., None])[..., 0].astype(np.float64)


class Equations:
    """Sparse equations with the matrix A' W A + ridge, for the incidence A [K, m] and weights W [K].

    They are solved by conjugate gradients, which need few rounds in leagues where everybody has met many others,
    directly or through one or two players. They need as many rounds as a chain of players is long; but such a league
    has a sparse factorisation, which takes over then.
    """

    def __init__(self, incidence: Sparse, weights: Floats, ridge: float, precision: float = PRECISION) -> None:
        self._incidence = incidence
        self._transposed: Sparse = sparse.csr_array(incidence.T)
        self._weights, self._ridge, self._precision = weights[:, None], ridge, precision
        self._factors: Any = None

    def solve(self, vectors: Floats) -> Floats:
        """The x [B, m] for right-hand sides [B, m]."""
        found = self._iterate(vectors.T) if self._factors is None else None
        if found is None:
            self._factors = self._factors or self._factorise()
            found = self._factors.solve(np.ascontiguousarray(vectors.T))
        return np.asarray(found.T, np.float64)

    def _iterate(self, vectors: Floats) -> Floats | None:
        """By conjugate gradients, with the diagonal as preconditioner; None if they are slow. [m, B]."""
        matrix, transposed, weights = self._incidence, self._transposed, self._weights
        diagonal: Floats = transposed.power(2) @ weights + self._ridge
        found, residual = np.zeros(vectors.shape), vectors.astype(np.float64)
        enough = self._precision * np.linalg.norm(vectors, axis=0)
        direction, last = np.zeros(vectors.shape), np.ones(vectors.shape[1])
        for _ in range(_MOST_ROUNDS):
            if np.all(np.linalg.norm(residual, axis=0) <= enough):
                return found
            better = residual / diagonal
            now: Floats = (residual * better).sum(axis=0)
            direction = better + direction * np.divide(now, last, out=np.zeros_like(now), where=last > 0)
            image: Floats = transposed @ (weights * (matrix @ direction)) + self._ridge * direction
            bend: Floats = (direction * image).sum(axis=0)
            length = np.divide(now, bend, out=np.zeros_like(now), where=bend > 0)
            found += length * direction
            residual = residual - length * image
            last = now
        return None

    def _factorise(self) -> Any:
        weighted: Sparse = sparse.csr_array(self._incidence * self._weights)
        matrix: Sparse = self._transposed @ weighted
        diagonal: Sparse = sparse.eye_array(matrix.shape[0])  # pyright: ignore
        matrix = matrix + self._ridge * diagonal
        factors = splu(  # pyright: ignore
            sparse.csc_array(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        return factors  # pyright: ignore


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
    """True if the first-move advantage is the last parameter."""
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
        return np.asarray(residuals @ self._incidence, np.float64)

    def hessian(self, weights: Floats) -> Floats:
        """[B, m, m] negative Hessian of the log-likelihood from the weights [B, K] of the pairings."""
        return np.asarray(weights @ self._products, np.float64).reshape(len(weights), self.size, self.size)

    def solve(self, weights: Floats, vectors: Floats, ridge: float = RIDGE) -> Floats:
        """The x [B, m] with hessian(weights) @ x = vectors, for weights [B, K] and vectors [B, m].

        Args:
            weights: As for `hessian`; [1, K] is for all vectors, and the only choice for many parameters.
            vectors: The right-hand sides.
            ridge: Added to the diagonal.
        """
        if self.size <= MOST_DENSE:
            matrices = self.hessian(weights) + ridge * np.eye(self.size)
            if len(weights) == 1:
                return np.asarray(np.linalg.solve(matrices[0], vectors.T), np.float64).T
            return solve_linear(matrices, vectors)
        (one,) = weights
        return Equations(self._incidence, one, ridge).solve(vectors)

    def equations(self, weights: Floats, precision: float) -> Equations:
        """The equations of `solve` for one set of weights [K] and many vectors.

        Args:
            weights: Of the pairings.
            precision: Relative residual of the solutions.
        """
        return Equations(self._incidence, weights, RIDGE, precision)

    @cached_property
    def _terms(self) -> list[tuple[Integers, float]]:
        """The parameters [K] that add to the lead of the first mover, -1 for none, and their factors."""
        place = np.full(len(self.fixed), -1)
        place[self.free] = np.arange(len(self.free))
        last = np.full(len(self.first), len(self.free) if self.has_advantage else -1)
        return [(place[self.first], 1.0), (place[self.second], -1.0), (last, 1.0)]

    @cached_property
    def _incidence(self) -> Sparse:
        """[K, m] what each parameter adds to the lead of the first mover."""
        return self._by_pairing(self._terms, self.size)

    @cached_property
    def _products(self) -> Sparse:
        """[K, m * m] the products of every two columns of `_incidence`: a Hessian is their weighted sum."""
        products: list[tuple[Integers, float]] = []
        for (one, factor), (other, more) in product(self._terms, repeat=2):
            products.append((np.where((one < 0) | (other < 0), -1, one * self.size + other), factor * more))
        return self._by_pairing(products, self.size**2)

    def _by_pairing(self, terms: list[tuple[Integers, float]], width: int) -> Sparse:
        """The matrix [K, width] with these values in these columns."""
        columns = np.stack([column for column, _ in terms])
        values = np.repeat([value for _, value in terms], len(self.first)).reshape(columns.shape)
        rows = np.broadcast_to(np.arange(len(self.first)), columns.shape)
        used = columns >= 0
        return sparse.csr_array((values[used], (rows[used], columns[used])), shape=(len(self.first), width))


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
