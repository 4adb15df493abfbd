"""The one door between the search and networks, crossed once a batch, never once a node.

The native core fills a slot, a Python thread runs it, the native core takes it back.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import MAX_MOVES, PACKED1_BYTES, PACKED2_BYTES


@dataclass(frozen=True, slots=True)
class Slot:
    """The memory of one batch. C is the capacity; the first n rows are used.

    Arrays are of the evaluator's choosing (pinned for a GPU), contiguous, and stay where they are.
    """

    planes1: NDArray[np.uint8]  # [C, 628] in: the packed planes of pieces
    planes2: NDArray[np.uint8]  # [C, 8] in: the packed planes of hands and check
    labels: NDArray[np.uint16]  # [C, 593] in: the policy labels of the legal moves
    counts: NDArray[np.uint16]  # [C] in: how many legal moves
    logits: NDArray[np.float32]  # [C, 593] out: the policy's logits of those moves
    values: NDArray[np.float32]  # [C] out: the win probability of the side to move

    @property
    def capacity(self) -> int:
        """C, the most positions that fit."""
        return len(self.values)

    @classmethod
    def zeros(cls, capacity: int) -> "Slot":
        """A slot in ordinary memory."""
        return cls(
            planes1=np.zeros((capacity, PACKED1_BYTES), np.uint8),
            planes2=np.zeros((capacity, PACKED2_BYTES), np.uint8),
            labels=np.zeros((capacity, MAX_MOVES), np.uint16),
            counts=np.zeros(capacity, np.uint16),
            logits=np.zeros((capacity, MAX_MOVES), np.float32),
            values=np.zeros(capacity, np.float32),
        )


class Evaluator(Protocol):
    """A network, or something that stands for one."""

    @property
    def identity(self) -> str:
        """Hash of the network, and the precision: part of every cache key."""
        ...

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """What the backend likes, best first."""
        ...

    @property
    def slots(self) -> int:
        """How many batches it likes in flight at once."""
        ...

    def allocate(self, capacity: int) -> Slot:
        """Memory for a batch of up to ``capacity`` positions."""
        ...

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot: fill its logits and values. Blocks; releases the GIL.

        Each slot is run by one thread at a time; several slots may run at once.

        Raises:
            EvaluatorError: the backend failed, or answered nonsense.
        """
        ...

    def close(self) -> None:
        """Free what it holds. No slot is used afterwards."""
        ...
