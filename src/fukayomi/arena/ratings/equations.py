"""Sparse linear equations of many players: conjugate gradients, or a factorisation where they are slow.

Conjugate gradients need few rounds in leagues where everybody has met many others, directly or through one or two
players. They need as many rounds as a chain of players is long; but such a league has a sparse factorisation.
"""

from typing import Any

import numpy as np
from scipy import sparse  # pyright: ignore[reportMissingTypeStubs]
from scipy.sparse.linalg import splu  # pyright: ignore

from fukayomi.arena.ratings.tally import Floats

Sparse = Any
"""A matrix of scipy.sparse, which has no types."""

PRECISION = 1e-13
"""Relative residual of iterative solutions."""
_MOST_ROUNDS = 300


class Equations:
    """The matrix A' W A + ridge, with the incidence A [K, m] and weights W [K]; it solves for many vectors."""

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
        return factors  # noqa: RET504  # pyright: ignore
