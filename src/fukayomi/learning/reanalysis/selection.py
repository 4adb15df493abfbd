"""Which positions get new targets: chances, and the draw by them."""

import numpy as np
from numpy.typing import NDArray

from fukayomi.engine.evaluation import Evaluation


def draw(chances: NDArray[np.float64], seed: int) -> NDArray[np.bool_]:
    """Choose positions, each with its chance, as many in all as the chances add up to, rounded up or down.

    This is systematic sampling (Madow 1949, Annals of Mathematical Statistics 20:333-354) in a random order.

    >>> int(draw(np.array([1.0, 0.0, 0.5, 0.5]), 0).sum())
    2

    Args:
        chances: 0 to 1, float64 [N].
        seed: Random seed.

    Returns:
        Whether each position is chosen: bool [N].
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(chances))
    marks = np.floor(np.cumsum(chances[order]) + rng.random())
    chosen = np.zeros(len(chances), np.bool_)
    chosen[order] = np.diff(marks, prepend=0.0) > 0
    return chosen


def chances_by_surprise(surprise: NDArray[np.float32], share: float) -> NDArray[np.float64]:
    """Chances that add up to a share: half of each is the same for all, half grows with the surprise, at most 1.

    KataGo weighs its positions in this way (its docs/KataGoMethods.md, "Policy Surprise Weighting"). No chance is 0, so
    each position of a file could have been chosen, and 1 / chance is the weight that corrects for the choice.

    Args:
        surprise: Nats, 0 or more: float32 [N].
        share: Mean of the chances.
    """
    mean = float(surprise.mean(dtype=np.float64)) if len(surprise) else 0.0
    weights = 0.5 + 0.5 * surprise.astype(np.float64) / mean if mean > 0 else np.ones(len(surprise))
    chances = np.ones(len(weights))
    certain = np.zeros(len(weights), np.bool_)
    while not certain.all():
        scale = (share * len(weights) - certain.sum()) / weights[~certain].sum()
        above = ~certain & (weights * scale >= 1)
        if not above.any():
            chances[~certain] = weights[~certain] * scale
            break
        certain |= above
    return chances


def surprise_of(
    evaluation: Evaluation, counts: NDArray[np.int64], moves: NDArray[np.uint16], visits: NDArray[np.uint16]
) -> NDArray[np.float32]:
    """The Kullback-Leibler divergence of policy targets from a network's policy, sum of t ln(t / p), in nats.

    Args:
        evaluation: What the network says of N positions.
        counts: Candidates of each position, 1 or more: int64 [N].
        moves: The candidates, legal moves as `Move.raw`: uint16 [C].
        visits: Their visits: uint16 [C].

    Returns:
        float32 [N].
    """
    rows = np.repeat(np.arange(len(counts)), counts)
    width = evaluation.moves.shape[1]
    keys = np.arange(len(counts)).repeat(width) << 16 | evaluation.moves.ravel()  # 0 behind the moves, which is no move
    order = np.argsort(keys, kind="stable")
    found = order[np.searchsorted(keys, rows << 16 | moves, sorter=order)]
    probabilities = np.maximum(evaluation.probabilities.ravel()[found], np.finfo(np.float32).tiny)
    totals = np.bincount(rows, visits, len(counts))
    targets = visits / np.where(totals > 0, totals, 1)[rows]
    parts = np.where(targets > 0, targets * np.log(np.where(targets > 0, targets, 1) / probabilities), 0)
    return np.maximum(0, np.bincount(rows, parts, len(counts))).astype(np.float32)
