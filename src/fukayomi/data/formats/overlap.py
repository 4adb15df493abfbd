"""How many held-out positions also occur in training: games that share their play are no test of each other.

Positions are compared by a 64-bit hash of their 32 bytes; among 10 million positions on either side a chance match has
a probability of less than 1 in 100 000.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 1 << 20  # records


@dataclass(frozen=True, slots=True)
class Overlap:
    """Held-out positions after some ply, and how many of them training has as well."""

    after_ply: int
    positions: int
    shared: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.shared / self.positions if self.positions else 0.0


def measure_overlap(
    training: NDArray[np.void], held_out: NDArray[np.void], plies: NDArray[np.uint16], after_ply: int
) -> Overlap:
    """Count the held-out positions after `after_ply` plies that also occur in training, at whatever ply.

    Args:
        training: HCPE [N], read in parts, so it may be a memory map larger than memory.
        held_out: HCPE [M].
        plies: uint16 [M], how many moves were played before each held-out position.
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


def position_keys(hcps: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A 64-bit hash of each row of bytes, positions for one: uint8 [N, 8 * W] to uint64 [N]."""
    words = np.ascontiguousarray(hcps).view("<u8")
    keys = np.zeros(len(words), np.uint64)
    for column in range(words.shape[1]):
        # splitmix64's finaliser over each word (Steele, Lea, Flood, 2014)
        keys ^= words[:, column]
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys ^= keys >> np.uint64(31)
    return keys
