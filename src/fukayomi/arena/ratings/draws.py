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
    return _draw_chances(level_of(expected), np.asarray(draw_rate))


def win_chances(expected: Floats, draw: Floats) -> Floats:
    """Probabilities of a win of games that are not drawn, from expected scores and probabilities of a draw."""
    return np.clip(np.divide(expected - draw / 2, 1 - draw, out=np.zeros_like(draw), where=draw < 1), 0, 1)


def level_of(expected: Floats) -> Floats:
    """4 p (1 - p) of expected scores p: 1 for equal players, 0 for a certain result."""
    return 4 * expected * (1 - expected)


def draw_root(level: Floats, draw_rate: Floats) -> Floats:
    """The root in the solution for the probability of a draw."""
    # x solves (4 / nu² - 1) x² + 2 x - 4 p (1 - p) = 0, here multiplied by d0² so that no draw rate divides by zero.
    return np.sqrt(np.maximum(0, draw_rate**2 + (1 - 2 * draw_rate) * level))


def _draw_chances(level: Floats, draw_rate: Floats) -> Floats:
    total = draw_rate + draw_root(level, draw_rate)
    return np.divide(draw_rate * level, total, out=np.zeros_like(level), where=total > 0)


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
    share, level = games / max(1, games.sum()), level_of(expected)
    for _ in range(_ROUNDS):
        found = _draw_chances(level, rate[:, None]) @ share
        low, high = np.where(found < wanted, rate, low), np.where(found < wanted, high, rate)
        # Draws are almost proportional to the rate, so scaling converges fast; bisection is the fallback.
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = rate * wanted / found
        inside = (scaled > low) & (scaled < high)
        previous, rate = rate, np.where(inside, scaled, (low + high) / 2)
        if np.all(np.abs(rate - previous) < _TOLERANCE):
            break
    return np.where(wanted > 0, np.where(wanted < 1, rate, 1.0), 0.0)
