"""Kernels of 3x3 convolutions at the points of Winograd's algorithm (Lavin and Gray 2015, arXiv:1509.09308)."""

import math

import numpy as np
from numpy.typing import NDArray

ROOT = math.sqrt(2)
POINTS = {3: (0.0, 1.0, -1.0, 2.0), 4: (0.0, ROOT, -ROOT, 1 / ROOT, -1 / ROOT)}
"""Finite points by the squares of a tile's side; the last is infinity. Those of 4 have the smallest errors."""


def points_of(weights: NDArray[np.float32], output: int) -> NDArray[np.float64]:
    """Kernels [K, C, 3, 3] as matrices [points, K, C], in float64.

    Args:
        weights: The kernels.
        output: Squares of a tile's side, 3 or 4.
    """
    matrix = _kernel_matrix(POINTS[output])
    found = np.einsum("ai,kcij,bj->abkc", matrix, weights.astype(np.float64), matrix, optimize=True)
    return found.reshape(-1, *weights.shape[:2])


def _kernel_matrix(points: tuple[float, ...]) -> NDArray[np.float64]:
    """[points + 1, 3]: a kernel's polynomial at each point, over the product of the distances to the other points."""
    rows = [
        [point**power / math.prod(point - other for other in points if other != point) for power in range(3)]
        for point in points
    ]
    return np.array([*rows, [0.0, 0.0, 1.0]])
