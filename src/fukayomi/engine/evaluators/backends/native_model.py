"""Networks in the native core."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fukayomi._native import (
    MAX_MOVES,
    NetworkRunner,
    ResidualNetwork,
    SparseInferenceNetwork,
    SparseInput,
    SparseRunner,
)
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot
from fukayomi.files.sparse_network import SparseFile
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.residual_file import ResidualWeights  # imports onnx

MOST_THREADS = 1024
"""Of a runner."""
Runner = NetworkRunner | SparseRunner


@dataclass(frozen=True, slots=True)
class ResidualSlot(PlaneSlot):
    """Planes, with the memory and the threads that compute them."""

    runner: NetworkRunner


@dataclass(frozen=True, slots=True)
class SparseSlot(Slot):
    """Rows of tables, with the memory and the threads that compute them."""

    runner: SparseRunner


class NativeModel(ABC):
    """A network in the native core.

    Args:
        path: The file, for messages.
        threads: CPU threads for one batch.
    """

    fixed_batch = 0

    def __init__(self, path: Path, threads: int) -> None:
        self._path = path
        self._threads = min(max(1, threads), MOST_THREADS)

    def allocate(self, capacity: int) -> Slot:
        """Memory and threads for a batch of up to ``capacity`` positions.

        Raises:
            EvaluatorError: The system has no more threads, or no memory.
        """
        try:
            return self._slot(capacity)
        except (RuntimeError, MemoryError) as error:
            threads = counted(self._threads, "thread")
            raise EvaluatorError(f"cannot start {threads} for {self._path}: {error}") from error

    @abstractmethod
    def _slot(self, capacity: int) -> ResidualSlot | SparseSlot: ...

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot.

        Raises:
            EvaluatorError: The results are not finite.
        """
        if not self.core(slot).run(slot.input, n, slot.logits, slot.values):
            raise EvaluatorError(f"{self._path}: the policy or the value has a number that is not finite")

    def core(self, slot: Slot) -> Runner:
        """Runner of a slot's batches in the core."""
        assert isinstance(slot, ResidualSlot | SparseSlot)
        return slot.runner

    def close(self) -> None:  # noqa: B027
        """Nothing to do: memory and threads go with the slots and the model."""


class ResidualModel(NativeModel):
    """A residual network.

    Args:
        path: The file, for messages.
        weights: Its weights.
        precision: "fp32" or "int16".
        threads: CPU threads for one batch.
        instructions: One of `fukayomi._native.cpu_instructions`; None: the fastest for it.
    """

    def __init__(
        self,
        path: Path,
        weights: "ResidualWeights",
        *,
        precision: str = "fp32",
        threads: int = 1,
        instructions: str | None = None,
    ) -> None:
        super().__init__(path, threads)
        arrays = weights.arrays()
        last_bias = float(arrays.pop("last_bias")[0])
        self._network = ResidualNetwork(
            activation=weights.activation,
            last_bias=last_bias,
            precision=precision,
            instructions=instructions,
            **arrays,
        )

    def _slot(self, capacity: int) -> ResidualSlot:
        return ResidualSlot.zeros(capacity, runner=NetworkRunner(self._network, self._threads))


class SparseModel(NativeModel):
    """A sparse network.

    Args:
        file: Its file.
        threads: CPU threads for one batch.
        instructions: One of `fukayomi._native.sparse_instructions`; None: the fastest.
    """

    batches = (8,)
    """A batch makes its positions no cheaper, but with fewer than eight the search around it is slower."""

    def __init__(self, file: SparseFile, *, threads: int = 1, instructions: str | None = None) -> None:
        super().__init__(file.path, threads)
        self._network = SparseInferenceNetwork(file.data, instructions)

    def _slot(self, capacity: int) -> SparseSlot:
        return SparseSlot(
            input=SparseInput(capacity),
            logits=np.zeros((capacity, MAX_MOVES), np.float32),
            values=np.zeros(capacity, np.float32),
            runner=SparseRunner(self._network, self._threads),
        )
