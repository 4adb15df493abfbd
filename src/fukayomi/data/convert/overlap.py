"""Overlap of held-out positions with training: shared positions make a test set too easy.

Positions are compared by a 64-bit hash; between two sets of 10 million positions the probability of a false match is
below 1 in 100 000.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats.rows import position_keys

_AT_ONCE = 1 << 20  # records


@dataclass(frozen=True, slots=True)
class Overlap:
    """Held-out positions that also occur in training."""

    after_ply: int
    """Only held-out positions after this many moves count."""
    positions: int
    """Held-out positions that count."""
    shared: int
    """Number of them that are in training."""

    @property
    def share(self) -> float:
        """Shared positions among all that count, 0 to 1."""
        return self.shared / self.positions if self.positions else 0.0


def measure_overlap(
    training: NDArray[np.void], held_out: NDArray[np.void], plies: NDArray[np.uint16], after_ply: int
) -> Overlap:
    """Count the held-out positions after `after_ply` moves that also occur in training, at any ply.

    Args:
        training: HCPE [N], read in parts: it may be a memory map larger than memory.
        held_out: HCPE [M].
        plies: uint16 [M], number of moves before each held-out position.
        after_ply: Positions with fewer moves before them do not count.
    """
    late = plies >= after_ply
    keys, counts = np.unique(position_keys(held_out["hcp"][late]), return_counts=True)
    seen = np.zeros(len(keys), np.bool_)
    if len(keys):
        for start in range(0, len(training), _AT_ONCE):
            found = position_keys(training["hcp"][start : start + _AT_ONCE])
            where = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
            seen[where[keys[where] == found]] = True
    return Overlap(after_ply, int(late.sum()), int(counts[seen].sum()))
