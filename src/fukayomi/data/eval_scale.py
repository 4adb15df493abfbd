"""How many centipawns make how much of a chance of winning: 1 / (1 + exp(-eval / scale)).

Programs differ in their scale. dlshogi's is EVAL_SCALE; for evaluations of another program it is fitted to the results.
"""

import math

import numpy as np
from numpy.typing import NDArray

EVAL_SCALE = 756.0864962951762  # dlshogi's
_SMALLEST, _LARGEST = 10.0, 100_000.0
_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 60  # the interval shrinks to 1e-12 of its length


def fit_eval_scale(evals: NDArray[np.int64], outcomes: NDArray[np.uint64]) -> float | None:
    """The scale whose chances of winning are nearest to the results, by least squares as dlshogi's evalfix.

    Args:
        evals: [E], evaluations from the side to move; mates must be left out.
        outcomes: [E, 3]: how many positions with this evaluation the side to move lost, drew, won.

    Returns:
        The scale; None if none fits: all evaluations are 0, or they say nothing about who wins.
    """
    counts = outcomes.sum(axis=1).astype(np.float64)
    useful = (evals != 0) & (counts > 0)
    points, counts = evals[useful].astype(np.float64), counts[useful]
    if len(points) == 0:
        return None
    means = (outcomes[useful] @ np.array([0.0, 0.5, 1.0])) / counts

    def error(log_scale: float) -> float:
        chances = 0.5 * (1 + np.tanh(0.5 * points / math.exp(log_scale)))  # no exp that overflows
        return float((counts * (chances - means) ** 2).sum())

    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    first_error, second_error = error(first), error(second)
    for _ in range(_STEPS):
        if first_error <= second_error:
            high, second, second_error = second, first, first_error
            first = high - _GOLDEN * (high - low)
            first_error = error(first)
        else:
            low, first, first_error = first, second, second_error
            second = low + _GOLDEN * (high - low)
            second_error = error(second)
    scale = math.exp((low + high) / 2)
    return scale if _SMALLEST * 1.01 < scale < _LARGEST / 1.01 else None
