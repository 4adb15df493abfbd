"""The interface between the search and networks, called once per batch, never once per node.

The native core fills a slot, a Python thread runs the evaluator on it, and the native core reads the results. The
evaluators here do not depend on a backend: a network that some backend runs, the mean of several networks, and
stand-ins without a network for tests and benchmarks, which run in the native core.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import (
    MAX_MOVES,
    PACKED1_BYTES,
    PACKED2_BYTES,
    CoreEvaluator,
    HashEvaluator,
    JointInput,
    PlaneInput,
    Reviewer,
    SlotInput,
    UniformEvaluator,
)
from fukayomi.engine.evaluators.backends.backend import Model, Plan
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.errors import InvalidValueError

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.native_model import NativeModel


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
    then needs no call of `run` for each batch. One that has a second network for positions that have become important
    has a method ``reviewer() -> Reviewer``, which allocates what one thread needs.
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


class NetworkEvaluator:
    """A network that a backend has opened.

    Args:
        network: Its file.
        model: The network in the backend.
        plan: How the backend runs it; nothing in it is left open.
        description: The plan and why it was chosen, for an ``info string``.
    """

    def __init__(self, network: NetworkFile, model: Model, plan: Plan, description: str) -> None:
        self.plan = plan
        """Plan by which it is run."""
        self.batch_size = plan.batch_size
        self.slots = plan.slots
        self.identity = f"{network.of(plan.precision).digest}-{plan.precision}-{plan.backend}"
        self._model = model
        self._description = description
        self._second: NativeModel | None = None

    def allocate(self, capacity: int) -> Slot:
        """Memory for a batch of up to ``capacity`` positions."""
        return self._model.allocate(capacity)

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot."""
        self._model.run(slot, n)

    def core(self, slot: Slot) -> CoreEvaluator | None:
        """Runner of a slot's batches in the native core; None: the backend is another library."""
        core = getattr(self._model, "core", None)
        return None if core is None else core(slot)

    def let_review(self, second: "NativeModel", description: str) -> None:
        """Have positions that have become important reviewed.

        Args:
            second: The network that does it.
            description: Its name and precision.
        """
        self._second = second
        self._description += f"; important positions are reviewed by {description}"

    def reviewer(self) -> Reviewer | None:
        """The second network with memory for the batches of a thread; None: there is none.

        Raises:
            EvaluatorError: The system has no more threads, or no memory.
        """
        if self._second is None:
            return None
        slot = self._second.allocate(REVIEW_BATCH)
        return Reviewer(self._second.core(slot), slot.input, slot.logits, slot.values)

    def close(self) -> None:
        """Free the network."""
        self._model.close()

    def describe(self) -> str:
        """The chosen configuration, for an ``info string``."""
        return self._description


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


REVIEW_BATCH = 8
"""Positions that a reviewer looks at together, if so many are due."""
LEAST_PROBABILITY = 1e-30
"""Keeps the logarithm of a probability finite."""


@dataclass(frozen=True, slots=True)
class EnsembleSlot(Slot):
    """A slot with a slot for each network; positions are written into all of them."""

    parts: tuple[Slot, ...]


class EnsembleEvaluator:
    """The weighted mean of several networks: of their win rates, and of their move probabilities.

    Networks that were trained apart make different mistakes, and their mean makes fewer. It costs as much as all of
    them together. To share the positions out among several networks instead, give an `EvaluatorPool` all of them.

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
