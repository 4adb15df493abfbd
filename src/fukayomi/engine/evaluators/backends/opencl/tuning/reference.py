"""What the kernels that are tuned compute, in NumPy and float64."""

import math

import numpy as np
from numpy.typing import NDArray

from fukayomi.engine.evaluators.backends.opencl.winograd import POINTS

Doubles = NDArray[np.float64]
LINE = 9


def transformed(board: Doubles, output: int) -> Doubles:
    """Winograd's transform of maps [C, 81, width]: [points, C, 9, width].

    Args:
        board: The maps.
        output: Squares of a tile's side, 3 or 4.
    """
    side, matrix = output + 2, _inputs_matrix(output)
    channels, _, width = board.shape
    padded = np.zeros((channels, 3 * output + 2, 3 * output + 2, width))
    padded[:, 1 : LINE + 1, 1 : LINE + 1] = board.reshape(channels, LINE, LINE, width)
    found = np.empty((side * side, channels, LINE, width))
    for tile in range(LINE):
        top, left = tile // 3 * output, tile % 3 * output
        square = padded[:, top : top + side, left : left + side]
        points = np.einsum("pi,cijw,qj->pqcw", matrix, square, matrix, optimize=True)
        found[:, :, tile] = points.reshape(side * side, channels, width)
    return found


def untransformed(points: Doubles, output: int) -> Doubles:
    """What follows the products, of values at the points [points, C, 9, width]: [C, 81, width].

    Args:
        points: The values.
        output: Squares of a tile's side, 3 or 4.
    """
    side, matrix = output + 2, _outputs_matrix(output)
    _, channels, _, width = points.shape
    board = np.zeros((channels, 3 * output, 3 * output, width))
    for tile in range(LINE):
        top, left = tile // 3 * output, tile % 3 * output
        square = points[:, :, tile].reshape(side, side, channels, width)
        found = np.einsum("ip,pqcw,jq->cijw", matrix, square, matrix, optimize=True)
        board[:, top : top + output, left : left + output] = found
    return board[:, :LINE, :LINE].reshape(channels, LINE * LINE, width)


def _outputs_matrix(output: int) -> Doubles:
    """[output, points]: from a polynomial's values at the points, the last of them infinity, to its coefficients."""
    rows = [[point**power for point in POINTS[output]] + [float(power == output - 1)] for power in range(output)]
    return np.array(rows)


def _inputs_matrix(output: int) -> Doubles:
    """[points, squares]: for each point the polynomial that is zero at the others; infinity's is zero at all."""
    points = POINTS[output]
    rows = [np.poly([other for other in points if other != point])[::-1] for point in points]
    found = np.zeros((len(points) + 1, len(points) + 1))
    for number, row in enumerate(rows):
        found[number, : len(row)] = row
    found[-1] = np.poly(points)[::-1]
    return found


def relative_error(found: NDArray[np.floating], expected: Doubles) -> float:
    """Length of the difference over the length of what is expected; infinite where a number is not finite."""
    if not np.isfinite(found).all():
        return math.inf
    return float(np.linalg.norm(found.astype(np.float64) - expected) / max(float(np.linalg.norm(expected)), 1e-30))
