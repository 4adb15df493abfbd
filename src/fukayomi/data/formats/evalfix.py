"""The scale of evaluations, fitted to results: how many centipawns make a winning chance of 73 %.

Each engine has its own centipawns; before evaluations of several engines are averaged they are brought to one scale.
"""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.hcpe import MATE_EVAL

EVAL_SCALE = 756.0864962951762
"""dlshogi's: 1 / (1 + exp(-eval / EVAL_SCALE)) is the win probability of the side to move."""

_FIRST_GUESS = 300.0
_EVALS = 1 << 16


class EvalTally:
    """Results by evaluation, from any number of records; their order does not matter."""

    def __init__(self) -> None:
        self.counts = np.zeros(_EVALS, np.int64)
        """Records by evaluation; -32768 comes first."""
        self.half_points = np.zeros(_EVALS, np.int64)
        """What the side to move got in them: 2 for a win, 1 for a draw."""

    def add(self, records: NDArray[np.void]) -> None:
        """Count records; what is evaluated as a mate is left out.

        Args:
            records: [N] with the fields hcp, eval and gameResult of HCPE.
        """
        evals = records["eval"].astype(np.int64)
        white_moves = (records["hcp"][:, 0] & 1).astype(np.int64)
        results = records["gameResult"]
        half_points = np.where(results == 0, 1, np.where(results == 1 + white_moves, 2, 0))
        kept = np.abs(evals) < MATE_EVAL
        bins = evals[kept] + _EVALS // 2
        self.counts += np.bincount(bins, minlength=_EVALS)
        self.half_points += np.bincount(bins[half_points[kept] == 2], minlength=_EVALS) * 2
        self.half_points += np.bincount(bins[half_points[kept] == 1], minlength=_EVALS)

    def add_outcomes(self, evals: NDArray[np.int64], outcomes: NDArray[np.int64]) -> None:
        """Count records that were counted by evaluation.

        Args:
            evals: [E], different evaluations from the side to move.
            outcomes: [E, 3]: how many positions with each the side to move lost, drew and won.
        """
        kept = np.abs(evals) < MATE_EVAL
        bins, outcomes = evals[kept] + _EVALS // 2, outcomes[kept]
        self.counts[bins] += outcomes.sum(axis=1)
        self.half_points[bins] += outcomes @ np.array([0, 1, 2])

    def fit(self) -> float | None:
        """The a of 1 / (1 + exp(-eval / a)) that is nearest to the results, by least squares.

        Returns:
            Centipawns, to a thousandth; None where nothing can be said: all evaluations are 0, or no a fits.
        """
        from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

        seen = np.flatnonzero(self.counts)
        evals = (seen - _EVALS // 2).astype(np.float64)
        if not evals.any():
            return None
        counts = self.counts[seen]
        # Each evaluation once, with its mean result and weight: the same least squares as over all records.
        means = self.half_points[seen] / (2 * counts)
        try:
            found: Any = optimize.curve_fit(  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
                _win_probability, evals, means, p0=[_FIRST_GUESS], sigma=1 / np.sqrt(counts)
            )
        except RuntimeError:  # no convergence
            return None
        scale = float(cast("tuple[list[float], Any]", found)[0][0])
        return round(scale, 3) if np.isfinite(scale) and scale > 0 else None


def rescale_evals(evals: NDArray[np.int16], scale: float) -> NDArray[np.int16]:
    """Evaluations as they would be on dlshogi's scale: int16 [N]. Mates stay, and nothing becomes one.

    Args:
        evals: int16 [N], centipawns on their own scale.
        scale: What `EvalTally.fit` found.
    """
    scaled = np.rint(evals * (EVAL_SCALE / scale))
    limited = np.clip(scaled, 1 - MATE_EVAL, MATE_EVAL - 1).astype(np.int16)
    return np.where(np.abs(evals.astype(np.int32)) >= MATE_EVAL, evals, limited)


def _win_probability(evals: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    return 0.5 * (1 + np.tanh(evals / (2 * scale)))  # 1 / (1 + exp(-evals / scale)), which overflows
