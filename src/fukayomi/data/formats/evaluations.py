"""Evaluations against results: fit the scale of an engine's centipawns, and measure how well it predicts wins.

Engines differ in what a centipawn is worth. Evaluations of several engines are brought to one scale before they are
averaged.
"""

import warnings
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import EVAL_SCALE, MATE_CP

BIN_CP = 100
"""Width of a bin of `Calibration` in centipawns; bin 0 covers -50 to 49."""
_FIRST_GUESS = 300.0
_EVALS = 1 << 16
_LOWEST = -(1 << 15)


class EvalTally:
    """Results counted by evaluation, over any number of records in any order."""

    def __init__(self) -> None:
        self.counts = np.zeros(_EVALS, np.int64)
        """Number of records with each evaluation, int64 [65536]; -32768 comes first."""
        self.half_points = np.zeros(_EVALS, np.int64)
        """Half points of the side to move in those records, int64 [65536]: 2 for a win, 1 for a draw."""

    def add(self, records: NDArray[np.void]) -> None:
        """Count records, except those evaluated as a mate.

        Args:
            records: [N] with the fields hcp, eval and gameResult of HCPE; results without flags.
        """
        evals = records["eval"].astype(np.int64)
        white_moves = (records["hcp"][:, 0] & 1).astype(np.int64)
        results = records["gameResult"]
        half_points = np.where(results == 0, 1, np.where(results == 1 + white_moves, 2, 0))
        kept = np.abs(evals) < MATE_CP
        bins = evals[kept] - _LOWEST
        self.counts += np.bincount(bins, minlength=_EVALS)
        self.half_points += np.bincount(bins[half_points[kept] == 2], minlength=_EVALS) * 2
        self.half_points += np.bincount(bins[half_points[kept] == 1], minlength=_EVALS)

    def add_outcomes(self, evals: NDArray[np.int64], outcomes: NDArray[np.int64]) -> None:
        """Add records that are already counted by evaluation.

        Args:
            evals: int64 [E], distinct evaluations from the side to move.
            outcomes: int64 [E, 3], how often the side to move lost, drew and won at each.
        """
        kept = np.abs(evals) < MATE_CP
        bins, outcomes = evals[kept] - _LOWEST, outcomes[kept]
        self.counts[bins] += outcomes.sum(axis=1)
        self.half_points[bins] += outcomes @ np.array([0, 1, 2])

    def fit(self) -> float | None:
        """The scale `a` for which 1 / (1 + exp(-eval / a)) fits the results best (least squares).

        Returns:
            Centipawns, rounded to a thousandth; None if all evaluations are 0, all results draws, or no scale fits.
        """
        from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

        seen = np.flatnonzero(self.counts)
        evals = (seen + _LOWEST).astype(np.float64)
        counts = self.counts[seen]
        if not evals.any() or np.array_equal(self.half_points[seen], counts):
            return None
        # One point per evaluation with its mean result and weight: the same least squares as over all records.
        means = self.half_points[seen] / (2 * counts)
        try:
            with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
                warnings.simplefilter("ignore", optimize.OptimizeWarning)  # about an error that is not used
                found: Any = optimize.curve_fit(  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
                    win_probabilities, evals, means, p0=[_FIRST_GUESS], sigma=1 / np.sqrt(counts)
                )
        except RuntimeError:  # no convergence
            return None
        scale = float(cast("tuple[list[float], Any]", found)[0][0])
        return round(scale, 3) if np.isfinite(scale) and scale > 0 else None


def rescale_evals(evals: NDArray[np.int16], scale: float) -> NDArray[np.int16]:
    """Convert evaluations to dlshogi's scale: int16 [N]. Mates stay, and nothing else becomes a mate.

    Args:
        evals: int16 [N], centipawns.
        scale: Their scale, as `EvalTally.fit` finds it.
    """
    scaled = np.rint(evals * (EVAL_SCALE / scale))
    limited = np.clip(scaled, 1 - MATE_CP, MATE_CP - 1).astype(np.int16)
    return np.where(np.abs(evals.astype(np.int32)) >= MATE_CP, evals, limited)


def win_probabilities(evals: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """1 / (1 + exp(-eval / scale)): float64 [N]; both arguments in centipawns."""
    return (1 + np.tanh(evals / (2 * scale))) / 2  # the same value without overflow


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Win rate by evaluation from the side to move, over B non-empty bins, without mates."""

    centers: NDArray[np.int64]
    """Middle of each bin in centipawns: int64 [B]."""
    counts: NDArray[np.int64]
    """Positions in each bin: int64 [B]."""
    win_rates: NDArray[np.float64]
    """Score of the side to move, a draw as half a win: float64 [B]."""
    mean_evals: NDArray[np.float64]
    """Mean evaluation in centipawns: float64 [B]."""

    def error(self, scale: float) -> float:
        """Mean absolute error of 1 / (1 + exp(-eval / scale)) against the win rates, weighted by positions.

        Args:
            scale: Centipawns.

        Returns:
            0 to 1; 0 without positions.
        """
        if not self.counts.sum():
            return 0.0
        gaps = np.abs(win_probabilities(self.mean_evals, scale) - self.win_rates)
        return float(np.average(gaps, weights=self.counts))


def calibrate(tally: EvalTally) -> Calibration:
    """Win rates by evaluation of the records in a tally."""
    seen = np.flatnonzero(tally.counts)
    evals = seen + _LOWEST
    bins = (evals + BIN_CP // 2) // BIN_CP
    numbers, where = np.unique(bins, return_inverse=True)
    counts = np.bincount(where, weights=tally.counts[seen], minlength=len(numbers))
    points = np.bincount(where, weights=tally.half_points[seen] / 2, minlength=len(numbers))
    sums = np.bincount(where, weights=evals * tally.counts[seen], minlength=len(numbers))
    filled = np.maximum(1, counts)
    return Calibration(numbers * BIN_CP, counts.astype(np.int64), points / filled, sums / filled)
