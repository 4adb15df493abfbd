"""Win rates as centipawns."""

import math

from fukayomi._native import EVAL_SCALE, MATE_CP

EVAL_COEF = round(EVAL_SCALE)
"""The default of the option Eval_Coef, dlshogi's: a win rate p is EVAL_COEF * ln(p / (1 - p)) centipawns."""


def centipawns(winrate: float, coefficient: float = EVAL_COEF) -> int:
    """A win rate as centipawns, as dlshogi computes them; ±30000 for 0 and 1, and never beyond.

    >>> centipawns(0.6), centipawns(0.4), centipawns(1.0)
    (307, -307, 30000)
    """
    if winrate <= 0.0 or winrate >= 1.0:
        return -MATE_CP if winrate <= 0.0 else MATE_CP
    return max(-MATE_CP, min(MATE_CP, round(-coefficient * math.log(1 / winrate - 1))))
