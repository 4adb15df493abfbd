"""A residual network in the native core."""

from dataclasses import dataclass
from pathlib import Path

from fukayomi._native import NetworkRunner, ResidualNetwork
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.residual_file import ResidualWeights
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot

MOST_THREADS = 1024
"""Of a `NetworkRunner`."""


@dataclass(frozen=True, slots=True)
class NativeSlot(PlaneSlot):
    """A slot with the memory and the threads that compute it."""

    runner: NetworkRunner


class NativeModel:
    """A residual network in the native core.

    Args:
        path: The file, for messages.
        weights: Its weights.
        precision: "fp32" or "int16".
        threads: CPU threads for one batch.
        instructions: One of `fukayomi._native.cpu_instructions`; None: the fastest for it.
    """

    fixed_batch = 0

    def __init__(
        self,
        path: Path,
        weights: ResidualWeights,
        *,
        precision: str = "fp32",
        threads: int = 1,
        instructions: str | None = None,
    ) -> None:
        self._path = path
        self._threads = min(max(1, threads), MOST_THREADS)
        arrays = weights.arrays()
        last_bias = float(arrays.pop("last_bias")[0])
        self._network = ResidualNetwork(
            activation=weights.activation,
            last_bias=last_bias,
            precision=precision,
            instructions=instructions,
            **arrays,
        )

    def allocate(self, capacity: int) -> NativeSlot:
        """Memory and threads for a batch of up to ``capacity`` positions."""
        try:
            runner = NetworkRunner(self._network, self._threads)
        except (RuntimeError, MemoryError) as error:
            raise EvaluatorError(f"cannot start {self._threads} threads for {self._path}: {error}") from error
        return NativeSlot.zeros(capacity, runner=runner)

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot.

        Raises:
            EvaluatorError: The results are not finite.
        """
        assert isinstance(slot, NativeSlot)
        if not slot.runner.run(slot.input, n, slot.logits, slot.values):
            raise EvaluatorError(f"{self._path}: the policy or the value has a number that is not finite")

    def core(self, slot: Slot) -> NetworkRunner:
        """What runs the batches of a slot in the core."""
        assert isinstance(slot, NativeSlot)
        return slot.runner

    def close(self) -> None:
        """Nothing to do: memory and threads go with the slots and the model."""
