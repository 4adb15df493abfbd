"""Networks in the native core, on the CPU."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fukayomi._native import (
    MAX_MOVES,
    NetworkRunner,
    ResidualNetwork,
    SparseInferenceNetwork,
    SparseInput,
    SparseRunner,
    cpu_instructions,
)
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.residual_file import ResidualWeights
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot
from fukayomi.files.sparse_network import SparseFile


class Native:
    """Kernels of our own on the CPU.

    Residual networks are computed by Winograd's algorithm, in float32 or with 16-bit products; sparse networks in
    integers.
    """

    name = "native"
    title = "fukayomi, CPU"
    on_gpu = False
    is_automatic = True
    libraries = ("fukayomi",)
    batches = (2, 4, 8, 16, 32)

    def problem(self) -> None:
        """None: it runs everywhere."""

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """Of a residual network fp32, and int16 where the CPU gains from it; int8 of a sparse one."""
        if network.is_sparse:
            return () if isinstance(network.sparse, Exception) else ("int8",)
        if not network.is_onnx or isinstance(network.residual, Exception):
            return ()
        return ("fp32", "int16") if cpu_instructions("int16") else ("fp32",)

    def open(self, network: NetworkFile, plan: Plan) -> "NativeModel":
        """The network, with the threads of the plan for each batch."""
        content = network.sparse if network.is_sparse else network.residual
        if isinstance(content, Exception):
            raise EvaluatorError(refusal(network)) from content
        if isinstance(content, SparseFile):
            return SparseModel(content, threads=plan.threads)
        return ResidualModel(network.path, content, precision=plan.precision, threads=plan.threads)


def refusal(network: NetworkFile) -> str:
    """Reason why this backend cannot run a file."""
    from fukayomi.engine.evaluators.backends.residual_file import DamagedFileError

    if network.is_sparse:
        return str(network.sparse)
    needs = f"{network.path}: DNN_Provider native runs sparse networks, and residual networks in ONNX files, alone"
    if not network.is_onnx:
        return needs
    if isinstance(network.residual, DamagedFileError):
        return f"{network.path}: {network.residual}"
    return f"{needs}: {network.residual}; cpu runs others"


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
            raise EvaluatorError(f"cannot start {self._threads} threads for {self._path}: {error}") from error

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
        weights: ResidualWeights,
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
