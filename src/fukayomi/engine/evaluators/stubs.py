"""Evaluators without a network, for tests and benchmarks: the native core answers at once."""

from fukayomi._native import HashEvaluator, UniformEvaluator
from fukayomi.engine.evaluators.protocol import Slot


class StubEvaluator:
    """A native evaluator behind the protocol.

    Args:
        native: what answers.
        identity: what it is called.
        batch_size: positions a batch.
    """

    slots = 1

    def __init__(self, native: HashEvaluator | UniformEvaluator, identity: str, batch_size: int) -> None:
        self._native = native
        self.identity = identity
        self.batch_sizes = (batch_size,)

    def allocate(self, capacity: int) -> Slot:
        """Memory for a batch of up to ``capacity`` positions."""
        return Slot.zeros(capacity)

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot."""
        self._native.run(slot.planes1, slot.planes2, slot.labels, slot.counts, n, slot.logits, slot.values)

    def close(self) -> None:
        """Nothing to free."""


def hash_evaluator(batch_size: int = 16, seed: int = 0) -> StubEvaluator:
    """Policy and value from a hash of the position: arbitrary, but as sharp as a network's, and always the same."""
    return StubEvaluator(HashEvaluator(seed), f"hash-{seed}", batch_size)


def uniform_evaluator(batch_size: int = 16) -> StubEvaluator:
    """Every move alike and every position even."""
    return StubEvaluator(UniformEvaluator(), "uniform", batch_size)
