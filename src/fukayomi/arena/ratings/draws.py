"""Davidson's model of draws: the stronger of two players wins more often, and equals draw most often.

With the score p that the ratings promise, a win, a draw and a loss have the chances w, x and l with w + x / 2 = p,
w + x + l = 1 and x² = nu² w l. The draw rate of equal players, d0, tells nu = 2 d0 / (1 - d0).
"""

import numpy as np

from fukayomi.arena.ratings.tally import Floats, Integers

_ROUNDS = 60
_TOLERANCE = 1e-10


def draw_chances(expected: Floats, draw_rate: Floats | float) -> Floats:
    """The chances of a draw, [..., K], where the expected scores are [..., K] and the draw rates of equals [..., 1]."""
    rate = np.asarray(draw_rate)
    level, root = level_and_root(expected, rate)
    return np.divide(rate * level, rate + root, out=np.zeros_like(level), where=rate + root > 0)


def level_and_root(expected: Floats, draw_rate: Floats) -> tuple[Floats, Floats]:
    """How level players are, 0 to 1, and the root in the solution for the chance of a draw; as in `draw_chances`."""
    # x solves (4 / nu² - 1) x² + 2 x - 4 p (1 - p) = 0, here multiplied by d0² so that no draw rate divides by zero.
    level = 4 * expected * (1 - expected)
    return level, np.sqrt(np.maximum(0, draw_rate**2 + (1 - 2 * draw_rate) * level))


def fit_draw_rate(expected: Floats, games: Integers, draws: Integers) -> Floats:
    """The draw rates of equal players, [B], with which as many draws are expected as there were.

    Args:
        expected: Expected scores [B, K].
        games: [K].
        draws: [B, K].
    """
    wanted = draws.sum(axis=1) / max(1, games.sum())
    low, high = np.zeros(len(wanted)), np.ones(len(wanted))
    rate = np.clip(wanted, _TOLERANCE, 1 - _TOLERANCE)
    share = games / max(1, games.sum())
    for _ in range(_ROUNDS):
        found = draw_chances(expected, rate[:, None]) @ share
        low, high = np.where(found < wanted, rate, low), np.where(found < wanted, high, rate)
        # Draws grow almost in proportion to the rate, so that scaling converges fast; bisection guards it.
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = rate * wanted / found
        inside = (scaled > low) & (scaled < high)
        previous, rate = rate, np.where(inside, scaled, (low + high) / 2)
        if np.all(np.abs(rate - previous) < _TOLERANCE):
            break
    return np.where(wanted > 0, np.where(wanted < 1, rate, 1.0), 0.0)
