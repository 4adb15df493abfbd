"""The generalised likelihood ratio of the sequential test, exactly, for many matches at once.

Of all distributions of results that have the strength of a hypothesis, the one under which the observed shares are most
likely stands for the hypothesis. Zeros would make it impossible for ever: an outcome that never came counts as 1/1000.

Sources: M. Van den Bergh, "The generalized maximum likelihood ratio for the expectation value of a distribution"
(proposition 1.1), "Normalized Elo", "Comments on normalized Elo" (section 4.1).
"""

from math import sqrt

import numpy as np
import numpy.typing as npt

from fukayomi.arena.intervals import ABSENT, NELO_PER_UNIT, elo_to_score

Floats = npt.NDArray[np.float64]

ROUNDS = 100  # of tangents: a few are enough, save for results that hardly ever differ
ROOT_STEPS = 100  # likewise: mostly four or five


def log_likelihood_ratios(counts: npt.ArrayLike, elo0: float, elo1: float, *, normalized: bool) -> Floats:
    """The LLR of each of many matches.

    Args:
        counts: [matches, 3 or 5], from 0. An outcome that never came counts as 1/1000.
        elo0: The first player's advantage by H0.
        elo1: By H1.
        normalized: They are normalised Elo, within ±200; otherwise logistic.

    Returns:
        [matches]; 0 for a match without results.
    """
    counts = np.asarray(counts, np.float64)
    weights = np.where(counts > 0, counts, ABSENT)
    total = weights.sum(1)
    shares = weights / total[:, None]
    likely0, likely1 = (_most_likely(shares, elo, normalized) for elo in (elo0, elo1))
    ratios = total * (shares * np.log(likely1 / likely0)).sum(1)
    return np.where(counts.any(1), ratios, 0.0)


def _most_likely(shares: Floats, elo: float, normalized: bool) -> Floats:
    """The distributions of results with this strength that make the observed shares most likely; [matches, 3 or 5]."""
    outcomes = shares.shape[1]
    scores = np.linspace(0.0, 1.0, outcomes)
    if not normalized:
        return _tilted(shares, np.broadcast_to(scores - elo_to_score(elo), shares.shape))
    # The normalised mean of a pair is that of a game times the root of two.
    unit = elo / NELO_PER_UNIT * (sqrt(2) if outcomes == 5 else 1)
    return _most_likely_normalized(shares, scores, unit)


def _most_likely_normalized(shares: Floats, scores: Floats, unit: float) -> Floats:
    """The most likely distributions whose mean is 1/2 and `unit` standard deviations.

    The condition is not linear in the probabilities. Its tangent at the last solution is, and gives the next one.
    """
    found = np.full_like(shares, 1 / shares.shape[1])
    for _ in range(ROUNDS):
        mean = (found * scores).sum(1, keepdims=True)
        deviations = scores - mean
        sigma = np.sqrt((found * deviations**2).sum(1, keepdims=True))
        tangent = scores - 0.5 - unit * (sigma + deviations**2 / sigma) / 2
        last, found = found, _tilted(shares, tangent)
        if np.abs(found - last).max() < 1e-9:
            break
    return found


def _tilted(shares: Floats, values: Floats) -> Floats:
    """The distributions p that make the shares most likely under the condition that sum(p * values) is 0.

    They are shares / (1 + theta * values), for the one theta that keeps the condition and all of p positive. It lies
    between two poles, and the sum falls from one to the other: Newton's steps, halving where they leave the bracket.

    Args:
        shares: Positive, [matches, outcomes]; each row's sum is 1.
        values: [matches, outcomes]; each row has both signs.
    """
    theta = np.zeros(len(shares))
    low, high = -1 / values.max(1), -1 / values.min(1)
    rows = np.arange(len(shares))  # that have not settled yet
    for _ in range(ROOT_STEPS):
        p, v, t = shares[rows], values[rows], theta[rows]
        terms = v / (1 + t[:, None] * v)
        sums = (p * terms).sum(1)
        low[rows] = np.where(sums > 0, t, low[rows])
        high[rows] = np.where(sums > 0, high[rows], t)
        step = t + sums / (p * terms**2).sum(1)
        inside = (step > low[rows]) & (step < high[rows])
        theta[rows] = np.where(inside, step, (low[rows] + high[rows]) / 2)
        rows = rows[np.abs(theta[rows] - t) > 1e-14 * np.abs(t)]
        if not len(rows):
            break
    return shares / (1 + theta[:, None] * values)
