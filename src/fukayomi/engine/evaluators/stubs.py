"""Evaluators without a network, for tests and benchmarks. They run in the native core."""

from fukayomi._native import HashEvaluator, UniformEvaluator
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot


class StubEvaluator:
    """A native evaluator behind the protocol.

    Args:
        native: The native evaluator.
        identity: Its name.
        batch_size: Positions per batch.
    """

    slots = 1

    def __init__(self, native: HashEvaluator | UniformEvaluator, identity: str, batch_size: int) -> None:
        self._native = native
        self.identity = identity
        self.batch_size = batch_size

    def allocate(self, capacity: int) -> PlaneSlot:
        """Memory for a batch of up to ``capacity`` positions."""
        return PlaneSlot.zeros(capacity)

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot."""
        assert isinstance(slot, PlaneSlot)
        self._native.run(slot.input, n, slot.logits, slot.values)

    def close(self) -> None:
        """Nothing to free."""


class CoreStubEvaluator(StubEvaluator):
    """One whose batches the core runs by itself."""

    def core(self, slot: Slot) -> HashEvaluator | UniformEvaluator:
        """The native evaluator."""
        return self._native


def hash_evaluator(batch_size: int = 16, seed: int = 0) -> CoreStubEvaluator:
    """Policy and value from a hash of the position: arbitrary, as sharp as a network's, and reproducible."""
    return CoreStubEvaluator(HashEvaluator(seed), f"hash-{seed}", batch_size)


def uniform_evaluator(batch_size: int = 16) -> CoreStubEvaluator:
    """The same logit for every move and the value 0.5 for every position."""
    return CoreStubEvaluator(UniformEvaluator(), "uniform", batch_size)
