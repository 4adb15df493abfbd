"""How well evaluations foretell results: the win rate by evaluation beside the curve that evaluations stand for."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.evalfix import EvalTally

BIN_CP = 100
"""The width of a bin, in centipawns; bin 0 goes from -50 to 49."""
_LOWEST = -(1 << 15)


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Positions by evaluation from the side to move, without mates; only bins that have any."""

    centers: NDArray[np.int64]
    """Centipawns: the middle of each bin."""
    counts: NDArray[np.int64]
    win_rates: NDArray[np.float64]
    """Of the side to move; a draw is half a win."""
    mean_evals: NDArray[np.float64]
    """Centipawns."""

    def error(self, scale: float) -> float:
        """By how much 1 / (1 + exp(-eval / scale)) is wrong about the win rate of a bin, in the mean over positions.

        Args:
            scale: Centipawns.

        Returns:
            From 0 to 1; 0 where there are no positions.
        """
        if not self.counts.sum():
            return 0.0
        gaps = np.abs(win_probabilities(self.mean_evals, scale) - self.win_rates)
        return float(np.average(gaps, weights=self.counts))


def win_probabilities(evals: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """1 / (1 + exp(-eval / scale)): float64 [N]; both in centipawns."""
    return (1 + np.tanh(evals / (2 * scale))) / 2  # the same, and never too large


def calibrate(tally: EvalTally) -> Calibration:
    """The win rates by evaluation of what a tally has counted."""
    seen = np.flatnonzero(tally.counts)
    evals = seen + _LOWEST
    bins = (evals + BIN_CP // 2) // BIN_CP
    numbers, where = np.unique(bins, return_inverse=True)
    counts = np.bincount(where, weights=tally.counts[seen], minlength=len(numbers))
    points = np.bincount(where, weights=tally.half_points[seen] / 2, minlength=len(numbers))
    sums = np.bincount(where, weights=evals * tally.counts[seen], minlength=len(numbers))
    filled = np.maximum(1, counts)
    return Calibration(numbers * BIN_CP, counts.astype(np.int64), points / filled, sums / filled)
