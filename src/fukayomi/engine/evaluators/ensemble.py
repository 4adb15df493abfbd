"""Several networks that judge every position together.

Networks that were trained apart make different mistakes, and their mean makes fewer. It costs as much as all of them
together. To share the positions out among several networks instead, give an `EvaluatorPool` all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import MAX_MOVES, JointInput
from fukayomi.engine.evaluators.protocol import Evaluator, Slot
from fukayomi.errors import InvalidValueError

LEAST_PROBABILITY = 1e-30
"""Keeps the logarithm of a probability finite."""


@dataclass(frozen=True, slots=True)
class EnsembleSlot(Slot):
    """A slot with a slot for each network; positions are written into all of them."""

    parts: tuple[Slot, ...]


class EnsembleEvaluator:
    """The weighted mean of several networks: of their win rates, and of their move probabilities.

    Args:
        evaluators: The networks, on any devices. They are closed with the ensemble.
        weights: One for each, above 0; only their ratios count. None: all the same.

    Raises:
        ValueError: There is no evaluator, or the weights do not fit.
    """

    def __init__(self, evaluators: Sequence[Evaluator], weights: Sequence[float] | None = None) -> None:
        self._evaluators = tuple(evaluators)
        given = [1.0] * len(self._evaluators) if weights is None else list(weights)
        if not self._evaluators:
            raise InvalidValueError("an ensemble needs at least one evaluator")
        if len(given) != len(self._evaluators):
            raise InvalidValueError(f"{len(self._evaluators)} evaluators need as many weights, not {len(given)}")
        if not all(math.isfinite(weight) and weight > 0 for weight in given):
            raise InvalidValueError(f"weights must be above 0: {', '.join(f'{weight:g}' for weight in given)}")
        self._weights = [weight / sum(given) for weight in given]
        self.batch_size = min(evaluator.batch_size for evaluator in self._evaluators)
        self.slots = max(evaluator.slots for evaluator in self._evaluators)

    @property
    def identity(self) -> str:
        """The identities of the networks with their weights."""
        parts = zip(self._weights, self._evaluators, strict=True)
        return "+".join(f"{weight:.4g}*{evaluator.identity}" for weight, evaluator in parts)

    def allocate(self, capacity: int) -> EnsembleSlot:
        """Memory for a batch of up to ``capacity`` positions."""
        parts = tuple(evaluator.allocate(capacity) for evaluator in self._evaluators)
        return EnsembleSlot(
            input=JointInput([part.input for part in parts]),
            logits=np.zeros((capacity, MAX_MOVES), np.float32),
            values=np.zeros(capacity, np.float32),
            parts=parts,
        )

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot with one network after the other.

        With several slots one network works on a batch while another works on the next.
        """
        assert isinstance(slot, EnsembleSlot)
        counts = slot.input.counts[:n]
        width = int(counts.max(initial=0))
        legal = np.arange(width) < counts[:, np.newaxis]
        values = np.zeros(n, np.float32)
        probabilities = np.zeros((n, width), np.float32)
        for weight, evaluator, part in zip(self._weights, self._evaluators, slot.parts, strict=True):
            evaluator.run(part, n)
            values += weight * part.values[:n]
            probabilities += weight * _softmax(part.logits[:n, :width], legal)
        slot.values[:n] = np.clip(values, 0, 1)
        slot.logits[:n, :width] = np.log(np.maximum(probabilities, LEAST_PROBABILITY))

    def close(self) -> None:
        """Close the networks."""
        for evaluator in self._evaluators:
            evaluator.close()

    def describe(self) -> str:
        """The networks and their weights, for an ``info string``."""
        parts = zip(self._weights, self._evaluators, strict=True)
        return "mean of " + ", ".join(f"{weight:.1%} {_describe(evaluator)}" for weight, evaluator in parts)


def _describe(evaluator: Evaluator) -> str:
    describe = getattr(evaluator, "describe", None)
    return evaluator.identity if describe is None else str(describe())


def _softmax(logits: NDArray[np.float32], legal: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Probabilities [n, width] of the legal moves; rows without any are 0."""
    masked = np.where(legal, logits, -np.inf)
    top = np.max(masked, axis=1, keepdims=True, initial=-np.inf)
    weights = np.exp(masked - np.where(np.isfinite(top), top, 0))
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), LEAST_PROBABILITY)
