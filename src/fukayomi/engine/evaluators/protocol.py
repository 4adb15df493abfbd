"""The interface between the search and networks, called once per batch, never once per node.

The native core fills a slot, a Python thread runs the evaluator on it, and the native core reads the results.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import MAX_MOVES, PACKED1_BYTES, PACKED2_BYTES, PlaneInput, SlotInput


@dataclass(frozen=True, slots=True)
class Slot:
    """The memory of one batch. C is the capacity; the first n rows are used.

    The evaluator chooses the memory (pinned for a GPU), and with the input what it keeps of a position. The arrays are
    contiguous and are never replaced.
    """

    input: SlotInput
    """Positions and their moves, which the core writes; it has room for C positions or more."""
    logits: NDArray[np.float32]
    """[C, 593], output: the policy's logits of the moves, in the order in which they were written."""
    values: NDArray[np.float32]
    """[C], output: win probability of the side to move."""

    @property
    def capacity(self) -> int:
        """C, the maximum number of positions."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class PlaneSlot(Slot):
    """A slot of an evaluator that reads bit-packed planes."""

    input: PlaneInput

    @classmethod
    def zeros(cls, capacity: int, **own: Any) -> Self:
        """A slot in ordinary memory.

        Args:
            capacity: C.
            own: What a subclass has besides.
        """
        return cls(
            input=PlaneInput(
                np.zeros((capacity, PACKED1_BYTES), np.uint8),
                np.zeros((capacity, PACKED2_BYTES), np.uint8),
                np.zeros((capacity, MAX_MOVES), np.uint16),
                np.zeros(capacity, np.uint16),
            ),
            logits=np.zeros((capacity, MAX_MOVES), np.float32),
            values=np.zeros(capacity, np.float32),
            **own,
        )


class Evaluator(Protocol):
    """A network, or a stand-in for one.

    One whose batches the native core can run by itself has besides a method ``core(slot) -> CoreEvaluator``: a search
    then needs no call of `run` for each batch.
    """

    @property
    def identity(self) -> str:
        """Hash of the network and precision: part of every cache key."""
        ...

    @property
    def batch_size(self) -> int:
        """The best number of positions per batch."""
        ...

    @property
    def slots(self) -> int:
        """The best number of batches in flight at once."""
        ...

    def allocate(self, capacity: int) -> Slot:
        """Memory for a batch of up to ``capacity`` positions."""
        ...

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot: fill its logits and values. Blocks; releases the GIL.

        Each slot is run by one thread at a time; several slots may run at once.

        Raises:
            EvaluatorError: The backend failed, or its output is unusable.
        """
        ...

    def close(self) -> None:
        """Free all resources. No slot is used afterwards."""
        ...


class TorchModule(Protocol):
    """A module in torch (`torch.nn.Module`), which is not imported for its type."""

    def __call__(self, *planes: Any, **_: Any) -> Any:
        """The logits of policy [N, 2187] and value [N, 1]."""
        ...

    def state_dict(self) -> Any:
        """Its parameters."""
        ...


NetworkModel: TypeAlias = str | Path | Evaluator | TorchModule
"""What a network is loaded from: a file or a name, a module in torch, an evaluator."""
