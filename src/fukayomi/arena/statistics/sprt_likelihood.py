"""The generalised likelihood ratio of the sequential test, exactly, for many matches at once.

Of all distributions of results that have the strength of a hypothesis, the one under which the observed shares are most
likely stands for the hypothesis. Zeros would make it impossible for ever: an outcome that never came counts as 1/1000.

Sources: M. Van den Bergh, "The generalized maximum likelihood ratio for the expectation value of a distribution"
(proposition 1.1), "Normalized Elo", "Comments on normalized Elo" (section 4.1).
"""

from math import sqrt

import numpy as np
import numpy.typing as npt

from fukayomi.arena.statistics.intervals import ABSENT, NELO_PER_UNIT, elo_to_score

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
    columns = np.ascontiguousarray(np.asarray(counts, np.float64).T)  # [outcomes, matches]: sums over it are fast
    weights = np.where(columns > 0, columns, ABSENT)
    total = weights.sum(0)
    shares = weights / total
    likely0, likely1 = (_most_likely(shares, elo, normalized) for elo in (elo0, elo1))
    ratios = total * (shares * np.log(likely1 / likely0)).sum(0)
    return np.where(columns.any(0), ratios, 0.0)


def _most_likely(shares: Floats, elo: float, normalized: bool) -> Floats:
    """The distributions of results with this strength that make the observed shares most likely; [3 or 5, matches]."""
    outcomes = shares.shape[0]
    scores = np.linspace(0.0, 1.0, outcomes)[:, None]
    if not normalized:
        values: Floats = np.broadcast_to(scores - elo_to_score(elo), shares.shape)
        return shares / (1 + _multiplier(shares, values, np.zeros_like(shares[0])) * values)
    # The normalised mean of a pair is that of a game times the root of two.
    unit = elo / NELO_PER_UNIT * (sqrt(2) if outcomes == 5 else 1)
    return _most_likely_normalized(shares, scores, unit)


def _most_likely_normalized(shares: Floats, scores: Floats, unit: float) -> Floats:
    """The most likely distributions whose mean is 1/2 and `unit` standard deviations.

    The condition is not linear in the probabilities. Its tangent at the last solution is, and gives the next one.
    """
    found = np.full_like(shares, 1 / shares.shape[0])
    theta = np.zeros_like(shares[0])
    for _ in range(ROUNDS):
        mean = (found * scores).sum(0)
        deviations = scores - mean
        sigma = np.sqrt((found * deviations**2).sum(0))
        tangent = scores - 0.5 - unit * (sigma + deviations**2 / sigma) / 2
        theta = _multiplier(shares, tangent, theta)
        last, found = found, shares / (1 + theta * tangent)
        if np.abs(found - last).max(initial=0.0) < 1e-9:
            break
    return found


def _multiplier(shares: Floats, values: Floats, start: Floats) -> Floats:
    """The theta for which p = shares / (1 + theta * values) is positive and keeps the condition sum(p * values) = 0.

    Of all p that keep the condition, this one makes the shares most likely. The sum falls from one pole, next to which
    some p is infinite, to another: Newton's steps find the zero, and halving where they leave the bracket.

    Args:
        shares: Positive, [outcomes, matches]; each column's sum is 1.
        values: [outcomes, matches]; each column has both signs.
        start: A first guess, [matches]; 0 always serves.
    """
    pole_low, pole_high = -1 / values.max(0), -1 / values.min(0)
    theta = np.where((start > pole_low) & (start < pole_high), start, 0.0)
    columns = np.arange(len(theta))  # that have not settled yet
    p, v, t, low, high = shares, values, theta.copy(), pole_low, pole_high
    for _ in range(ROOT_STEPS):
        terms = v / (1 + t * v)
        weighted = p * terms
        sums = weighted.sum(0)
        low, high = np.where(sums > 0, t, low), np.where(sums > 0, high, t)
        step = t + sums / (weighted * terms).sum(0)
        step = np.where((step > low) & (step < high), step, (low + high) / 2)
        theta[columns] = step
        # So near to the zero a step of Newton's squares the error, measured by the distance to the poles.
        far = np.abs(step - t) > 1e-9 * np.minimum(step - pole_low[columns], pole_high[columns] - step)
        if not far.any():
            break
        columns, t, low, high = columns[far], step[far], low[far], high[far]
        p, v = p[:, far], v[:, far]
    return theta
