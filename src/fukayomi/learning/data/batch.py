"""Positions with training targets as NumPy arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import (
    FEATURES1,
    FEATURES2,
    NO_POLICY_LABEL,
    PACKED1_BYTES,
    PACKED2_BYTES,
    POLICY_LABELS,
)
from fukayomi.nn.config import SHORT_TERM_PLIES
from fukayomi.tabular import counted


@dataclass(frozen=True, eq=False)
class HeadArrays:
    """Targets of N positions for the further heads of `fukayomi.nn.heads`, from the view of the side to move."""

    draws: NDArray[np.float32]
    """[N]: share of draws in the result: 1, 0, or in avg the mean."""
    replies: NDArray[np.int32]
    """[N]: label of the opponent's next move, with its square as the side to move sees it; -1 where there is none."""
    plies_left: NDArray[np.int32]
    """[N]: plies to the end of the game, 1 or more; 0 where the moves that follow are not known."""
    short_term: NDArray[np.float32]
    """[N, 2]: averages of the win probabilities of the next plies; NaN where they are not known."""

    @classmethod
    def unknown(cls, results: NDArray[np.float32]) -> "HeadArrays":
        """Rows of single games whose moves are not known, with these results."""
        rows = len(results)
        return cls(
            (results == 0.5).astype(np.float32),
            np.full(rows, -1, np.int32),
            np.zeros(rows, np.int32),
            np.full((rows, len(SHORT_TERM_PLIES)), np.nan, np.float32),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """N positions with targets, all from the view of the side to move; C policy entries in total.

    A packed position takes 636 bytes instead of 38 KB of floats, so batches stay packed until they are used.
    """

    planes1: NDArray[np.uint8]
    """[N, 628]: 62 planes of 81 squares, bit-packed; `features` unpacks them."""
    planes2: NDArray[np.uint8]
    """[N, 8]: 57 constant planes of one bit each, and as 58th whether White is to move."""
    labels: NDArray[np.uint16]
    """[N]: policy label of the move played; in hcpe3 and avg, of the move with the most visits. NO_POLICY_LABEL where a
    row of psv has no move: such a position has no policy entry."""
    results: NDArray[np.float32]
    """[N]: result of the game, 1 win, 0.5 draw, 0 loss; the mean in avg."""
    values: NDArray[np.float32]
    """[N]: win probability that the evaluation stands for."""
    places: NDArray[np.int32]
    """[C]: where the policy is not zero, as row * 2187 + label; rows ascend."""
    weights: NDArray[np.float32]
    """[C]: policy at these places; the weights of a row add up to 1, or to 0 without a move."""
    heads: HeadArrays | None = None
    """Targets of further heads, if they were asked for."""
    position_weights: NDArray[np.float32] | None = None
    """[N]: how much each position counts in the loss; None: all 1."""

    @classmethod
    def empty(cls, rows: int) -> "Batch":
        """Uninitialised rows without policy entries."""
        return cls(
            np.empty((rows, PACKED1_BYTES), np.uint8),
            np.empty((rows, PACKED2_BYTES), np.uint8),
            np.empty(rows, np.uint16),
            np.empty(rows, np.float32),
            np.empty(rows, np.float32),
            np.empty(0, np.int32),
            np.empty(0, np.float32),
        )

    def __repr__(self) -> str:
        return f"<Batch of {counted(len(self), 'position')}>"

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.labels)

    @property
    def is_one_hot(self) -> bool:
        """True if every position has one policy entry, so that `labels` is the whole policy."""
        return len(self.places) == len(self.labels) and not (self.labels == NO_POLICY_LABEL).any()

    def features(self, constants: int = FEATURES2) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Network inputs, zeros and ones: float32 [N, 62, 9, 9] and [N, constants, 9, 9], squares as [file, rank].

        Args:
            constants: Constant planes, 57, or 58 with the plane of the colour to move (`NetworkConfig.features2`).
        """
        features1 = np.empty((len(self), FEATURES1, 9, 9), np.float32)
        features2 = np.empty((len(self), constants, 9, 9), np.float32)
        _native.unpack_planes(self.planes1, self.planes2, features1, features2)
        return features1, features2

    def policy(self) -> NDArray[np.float32]:
        """The policy target as a dense array: float32 [N, 2187]; each row adds up to 1, or to 0 without a move."""
        policy = np.zeros((len(self), POLICY_LABELS), np.float32)
        policy.reshape(-1)[self.places] = self.weights
        return policy
