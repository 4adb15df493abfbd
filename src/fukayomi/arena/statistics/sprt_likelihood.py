"""The exact generalised likelihood ratio of the sequential test, for many matches at once.

A hypothesis is represented by the result distribution of its strength that makes the observed shares most likely. An
outcome that never occurred counts as 1/1000: a zero would rule it out forever.

Sources: M. Van den Bergh, "The generalized maximum likelihood ratio for the expectation value of a distribution"
(proposition 1.1); "Normalized Elo"; "Comments on normalized Elo" (section 4.1).
"""

from math import sqrt

import numpy as np
import numpy.typing as npt

from fukayomi.arena.statistics.intervals import ABSENT, NELO_PER_UNIT, elo_to_score

Floats = npt.NDArray[np.float64]

ROUNDS = 100  # linearisations at most; a few suffice unless nearly all results are the same
ROOT_STEPS = 100  # at most; mostly four or five


def log_likelihood_ratios(counts: npt.ArrayLike, elo0: float, elo1: float, *, normalized: bool) -> Floats:
    """The LLR of each match.

    Args:
        counts: [matches, 3 or 5], 0 or more each.
        elo0: Advantage of the first player under H0.
        elo1: Advantage under H1.
        normalized: Whether these are normalised Elo, within ±200, or logistic.

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
    """The result distributions of a strength that make the observed shares most likely; [3 or 5, matches]."""
    outcomes = shares.shape[0]
    scores = np.linspace(0.0, 1.0, outcomes)[:, None]
    if not normalized:
        values: Floats = np.broadcast_to(scores - elo_to_score(elo), shares.shape)
        return shares / (1 + _multiplier(shares, values, np.zeros_like(shares[0])) * values)
    # The normalised mean of a pair is that of a game times sqrt(2).
    unit = elo / NELO_PER_UNIT * (sqrt(2) if outcomes == 5 else 1)
    return _most_likely_normalized(shares, scores, unit)


def _most_likely_normalized(shares: Floats, scores: Floats, unit: float) -> Floats:
    """The most likely distributions whose mean lies `unit` standard deviations above 1/2.

    This condition is not linear in the probabilities. It is linearised at each solution to find the next.
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
    """The theta for which p = shares / (1 + theta * values) is positive and satisfies sum(p * values) = 0.

    Of all p that satisfy the condition, this one makes the shares most likely (proposition 1.1). The sum falls
    monotonically between two poles: Newton's method finds its zero, with bisection where a step leaves the bracket.

    Args:
        shares: [outcomes, matches], positive; each column sums to 1.
        values: [outcomes, matches]; each column has values of both signs.
        start: [matches], a first guess; 0 always works.
    """
    pole_low, pole_high = -1 / values.max(0), -1 / values.min(0)
    theta = np.where((start > pole_low) & (start < pole_high), start, 0.0)
    columns = np.arange(len(theta))  # not converged yet
    p, v, t, low, high = shares, values, theta.copy(), pole_low, pole_high
    for _ in range(ROOT_STEPS):
        terms = v / (1 + t * v)
        weighted = p * terms
        sums = weighted.sum(0)
        low, high = np.where(sums > 0, t, low), np.where(sums > 0, high, t)
        step = t + sums / (weighted * terms).sum(0)
        step = np.where((step > low) & (step < high), step, (low + high) / 2)
        theta[columns] = step
        # This close to the zero a Newton step squares the error, relative to the distance from the poles.
        far = np.abs(step - t) > 1e-9 * np.minimum(step - pole_low[columns], pole_high[columns] - step)
        if not far.any():
            break
        columns, t, low, high = columns[far], step[far], low[far], high[far]
        p, v = p[:, far], v[:, far]
    return theta
