"""Parts shared by libraries that take planes as floats: what a network must be, batches, the check of its numbers.

    input1         float [N, 62, 9, 9]
    input2         float [N, 57, 9, 9], or [N, 58, 9, 9] with the plane of the colour to move
    output_policy  float [N, 2187], logits
    output_value   float [N, 1], the win probability of the side to move

All may be float16, float32 or float64; callers see float32. N is free, or a number, and then the positions go through
the network in batches of that number.

The core unpacks the planes and gathers the logits: unpacking them inside the ONNX graph was slower in ONNX Runtime and
in OpenVINO.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import FEATURES1, FEATURES2, POLICY_LABELS, gather_logits, unpack_planes
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import PlaneSlot, Slot

INPUTS = {"input1": (FEATURES1, 9, 9), "input2": (FEATURES2, 9, 9)}
INPUTS_WITH_COLOUR = INPUTS | {"input2": (FEATURES2 + 1, 9, 9)}
"""For networks that take the plane of the colour to move."""
OUTPUTS = ("output_policy", "output_value")
FLOATS = ("float16", "float32", "float64")
LARGEST_BATCH = 1024
"""Largest fixed N."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output that a file declares."""

    name: str
    type: str
    """Name of numpy's type, or the library's name of another one."""
    shape: Sequence[int | str | None]
    """Text or None: free."""


@dataclass(frozen=True, slots=True)
class FloatSlot(PlaneSlot):
    """A slot with room for the planes as floats."""

    features1: Floats
    """[C, 62, 9, 9]"""
    features2: Floats
    """[C, 57, 9, 9], or 58 planes."""


class FloatModel(ABC):
    """A network in a library that takes planes as floats and returns the logits of all moves, in ordinary memory.

    A subclass loads the file in its constructor, calls `declare`, and computes one batch in `forward`.

    Args:
        path: The file, for messages.
    """

    library: str
    """Name of the library, for messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fixed_batch = 0
        self.shapes = INPUTS
        """Shapes of the inputs without N."""
        self._types = dict.fromkeys(INPUTS, "float32")

    def declare(self, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
        """Check the inputs and outputs that the file declares.

        Raises:
            EvaluatorError: The file is not a network for shogi.
        """
        self._types, self.fixed_batch = check_interface(self.path, inputs, outputs)
        if any(port.name == "input2" and list(port.shape[1:2]) == [FEATURES2 + 1] for port in inputs):
            self.shapes = INPUTS_WITH_COLOUR

    @abstractmethod
    def forward(self, inputs: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Policy and values, of any float type and shape, of one batch; threads may call it at once.

        Args:
            inputs: `input1` and `input2`, of the types that the file declares. N is the file's fixed one, if it has
                one.
        """

    def padded(self, n: int, capacity: int) -> int:  # subclasses need it
        """The batch size with which n positions are computed, for libraries that plan again for each new one."""
        return n

    def allocate(self, capacity: int) -> FloatSlot:
        """Memory for a batch of up to ``capacity`` positions."""
        rows = max(capacity, self.fixed_batch)
        features1, features2 = (np.zeros((rows, *self.shapes[name]), np.float32) for name in INPUTS)
        return FloatSlot.zeros(rows, features1=features1, features2=features2)

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot that `allocate` made.

        Raises:
            EvaluatorError: The library failed, or the outputs are no logits and probabilities.
        """
        assert isinstance(slot, FloatSlot)
        planes = slot.input
        unpack_planes(planes.planes1[:n], planes.planes2[:n], slot.features1[:n], slot.features2[:n])
        rows = max(n, self.fixed_batch or self.padded(n, slot.capacity))
        policy, values = self.evaluate(slot.features1[:rows], slot.features2[:rows])
        policy, values = policy[:n], values[:n]
        self.check_numbers(policy, values)
        gather_logits(policy, planes.labels[:n], planes.counts[:n], slot.logits[:n])
        slot.values[:n] = values

    def close(self) -> None:  # noqa: B027  # most have nothing to do
        """Nothing to do: the library frees the network with the object."""

    def evaluate(self, features1: Floats, features2: Floats) -> tuple[Floats, Floats]:
        """Policy [N, 2187] and win probabilities [N] of N positions.

        Args:
            features1: float32 [N, 62, 9, 9].
            features2: float32 [N, 57, 9, 9], or 58 planes as `shapes` says.

        Raises:
            EvaluatorError: The network failed, or its outputs have another shape.
        """
        count, size = len(features1), self.fixed_batch
        if size in (0, count):
            return self._evaluate(features1, features2)
        parts = [
            self._evaluate(_rows(features1, start, size), _rows(features2, start, size))
            for start in range(0, count, size)
        ]
        policy, values = (np.concatenate(outputs)[:count] for outputs in zip(*parts, strict=True))
        return policy, values

    def _evaluate(self, features1: Floats, features2: Floats) -> tuple[Floats, Floats]:
        """As `evaluate`, for one batch of the file."""
        count = len(features1)
        inputs = {
            name: features.astype(self._types[name], copy=False)
            for name, features in zip(INPUTS, (features1, features2), strict=True)
        }
        try:
            policy, values = self.forward(inputs)
        except Exception as error:  # the libraries' errors have no common base
            raise EvaluatorError(f"{self.path}: {self.library} failed: {error}") from error
        if policy.shape[:1] != (count,) or policy.size != count * POLICY_LABELS or values.size != count:
            raise EvaluatorError(
                f"{self.path}: output_policy and output_value must be [N, {POLICY_LABELS}] and [N, 1]; "
                f"for {count} positions they are {list(policy.shape)} and {list(values.shape)}"
            )
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite
            policy, values = policy.astype(np.float32, copy=False), values.astype(np.float32, copy=False)
        return policy.reshape(count, POLICY_LABELS), values.reshape(count)

    def check_numbers(self, policy: Floats, values: Floats) -> None:
        """Check that outputs are finite logits and probabilities; raises EvaluatorError if they are not."""
        check_values(self.path, is_finite=bool(np.isfinite(policy).all()), values=values)


def check_values(path: Path, *, is_finite: bool, values: Floats) -> None:
    """Check the outputs of a network.

    Args:
        path: The file, for messages.
        is_finite: Whether all logits are finite.
        values: [N]

    Raises:
        EvaluatorError: They are not, or the values are no probabilities.
    """
    if not is_finite:
        raise EvaluatorError(f"{path}: output_policy has a number that is not finite")
    if not ((values >= 0) & (values <= 1)).all():
        raise EvaluatorError(
            f"{path}: output_value must be a win probability, from 0 to 1; it is {values.min()} to "
            f"{values.max()}. A network that ends in a logit must be exported with a sigmoid"
        )


def next_power_of_two(n: int, capacity: int) -> int:
    """The next power of two, at most the capacity: for devices that plan again for each new batch size."""
    return min(capacity, 1 << (n - 1).bit_length())


def _rows(features: Floats, start: int, size: int) -> Floats:
    """Rows from `start` on, filled up with zeros to `size` rows."""
    rows = features[start : start + size]
    if len(rows) == size:
        return rows
    return np.concatenate([rows, np.zeros((size - len(rows), *rows.shape[1:]), np.float32)])


def check_interface(path: Path, inputs: Sequence[Port], outputs: Sequence[Port]) -> tuple[dict[str, str], int]:
    """Check inputs and outputs as far as the file declares them.

    Returns:
        The type of each input, and the fixed batch size of the file; 0 if it takes any.
    """
    ins = {port.name: port for port in inputs}
    outs = {port.name: port for port in outputs}
    if set(ins) != set(INPUTS) or not set(OUTPUTS) <= set(outs):
        raise EvaluatorError(
            f"{path}: a network for shogi has the inputs {', '.join(INPUTS)} and the outputs {', '.join(OUTPUTS)}; "
            f"this one has {', '.join(ins) or 'no inputs'} and {', '.join(outs) or 'no outputs'}"
        )
    for name in OUTPUTS:
        if outs[name].type not in FLOATS:
            raise EvaluatorError(f"{path}: {name} must be float16, float32 or float64; it is {outs[name].type}")
    batches = {_fixed_batch(path, ins[name], shape) for name, shape in INPUTS.items()} - {0}
    if len(batches) > 1:
        raise EvaluatorError(f"{path}: the inputs have different batch sizes: {', '.join(map(str, sorted(batches)))}")
    return {name: port.type for name, port in ins.items()}, max(batches, default=0)


def _fixed_batch(path: Path, port: Port, shape: tuple[int, ...]) -> int:
    """The batch size that an input declares; 0 if it takes any."""
    batch, *rest = port.shape or [None]
    fits = len(rest) == len(shape) and all(
        has in (wanted, other) or not isinstance(has, int)
        for has, wanted, other in zip(rest, shape, INPUTS_WITH_COLOUR[port.name], strict=True)
    )
    if not fits or port.type not in FLOATS:
        hint = "; it expects dlshogi's extra planes for entering kings" if rest[:1] == [119] else ""
        raise EvaluatorError(
            f"{path}: {port.name} must be float [N, {', '.join(map(str, shape))}]; "
            f"it is {port.type} {list(port.shape)}{hint}"
        )
    if not isinstance(batch, int) or batch < 0:
        return 0
    if not 1 <= batch <= LARGEST_BATCH:
        raise EvaluatorError(
            f"{path}: {port.name} has a fixed batch size of {batch}; 1 to {LARGEST_BATCH}, or a free one, can be used"
        )
    return batch
