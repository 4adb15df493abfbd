"""Davidson's model of draws: equal players draw most often.

With the expected score p, the probabilities w, x, l of a win, a draw and a loss satisfy w + x / 2 = p, w + x + l = 1
and x² = nu² w l. The draw rate d0 of equal players gives nu = 2 d0 / (1 - d0).

Source: R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments"
(1970).
"""

import numpy as np

from fukayomi.arena.ratings.tally import Floats, Integers

_ROUNDS = 60
_TOLERANCE = 1e-10


def draw_chances(expected: Floats, draw_rate: Floats | float) -> Floats:
    """Probabilities of a draw, [..., K], from expected scores [..., K] and draw rates of equal players [..., 1]."""
    rate = np.asarray(draw_rate)
    level, root = level_and_root(expected, rate)
    return np.divide(rate * level, rate + root, out=np.zeros_like(level), where=rate + root > 0)


def level_and_root(expected: Floats, draw_rate: Floats) -> tuple[Floats, Floats]:
    """4 p (1 - p), which is 1 for equal players, and the root in the solution for the probability of a draw."""
    # x solves (4 / nu² - 1) x² + 2 x - 4 p (1 - p) = 0, here multiplied by d0² so that no draw rate divides by zero.
    level = 4 * expected * (1 - expected)
    return level, np.sqrt(np.maximum(0, draw_rate**2 + (1 - 2 * draw_rate) * level))


def fit_draw_rate(expected: Floats, games: Integers, draws: Integers) -> Floats:
    """Draw rates of equal players, [B], with expected draws equal to observed draws.

    Args:
        expected: [B, K] expected scores.
        games: [K] games of each pairing.
        draws: [B, K] draws of each pairing.
    """
    wanted = draws.sum(axis=1) / max(1, games.sum())
    low, high = np.zeros(len(wanted)), np.ones(len(wanted))
    rate = np.clip(wanted, _TOLERANCE, 1 - _TOLERANCE)
    share = games / max(1, games.sum())
    for _ in range(_ROUNDS):
        found = draw_chances(expected, rate[:, None]) @ share
        low, high = np.where(found < wanted, rate, low), np.where(found < wanted, high, rate)
        # Draws are almost proportional to the rate, so scaling converges fast; bisection is the fallback.
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = rate * wanted / found
        inside = (scaled > low) & (scaled < high)
        previous, rate = rate, np.where(inside, scaled, (low + high) / 2)
        if np.all(np.abs(rate - previous) < _TOLERANCE):
            break
    return np.where(wanted > 0, np.where(wanted < 1, rate, 1.0), 0.0)
