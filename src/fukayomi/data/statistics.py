"""What is in an hcpe file: results and evaluations."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fukayomi.data.hcpe import MATE_EVAL, check_hcpe, read_hcpe

_EDGES = (-MATE_EVAL, -3000, -1000, -300, -100, 100, 300, 1000, 3000, MATE_EVAL)
_RESULTS = ("draw", "black_win", "white_win")
_AT_ONCE = 1 << 20  # records


@dataclass(frozen=True, slots=True)
class HcpeStatistics:
    """Counts over a file of positions."""

    positions: int
    results: dict[str, int]
    """Positions by the result of their game: draw, black_win, white_win."""
    evals: dict[str, int]
    """Positions by evaluation from the side to move, in centipawns: ``mated``, ``< -3000`` and so on, ``mate``."""

    def as_json(self) -> dict[str, Any]:
        """The same as plain dictionaries."""
        return {"positions": self.positions, "results": self.results, "evals": self.evals}


def measure_hcpe(path: Path) -> HcpeStatistics:
    """Count a file's positions by result and evaluation, reading it in parts.

    Raises:
        HcpeError: It is no hcpe file.
        OSError: It cannot be read.
    """
    records = read_hcpe(path)
    check_hcpe(records, str(path))
    results = np.zeros(len(_RESULTS), np.int64)
    evals = np.zeros(len(_EDGES) + 1, np.int64)
    for start in range(0, len(records), _AT_ONCE):
        part = records[start : start + _AT_ONCE]
        results += np.bincount(part["gameResult"], minlength=len(_RESULTS))
        evals += np.bincount(_bins(part["eval"]), minlength=len(evals))
    return HcpeStatistics(
        len(records),
        dict(zip(_RESULTS, results.tolist(), strict=True)),
        dict(zip(_bin_names(), evals.tolist(), strict=True)),
    )


def _bins(evals: np.ndarray[Any, np.dtype[np.int16]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    # A mate is at the edge itself: the lowest edge belongs to the bin below it, the others to the bin above.
    bins = np.searchsorted(np.array(_EDGES), evals, side="right")
    bins[evals == _EDGES[0]] = 0
    return bins


def _bin_names() -> list[str]:
    inner = [f"{low} to {high - 1}" for low, high in pairwise(_EDGES[1:-1])]
    return ["mated", f"below {_EDGES[1]}", *inner, f"{_EDGES[-2]} and more", "mate"]
