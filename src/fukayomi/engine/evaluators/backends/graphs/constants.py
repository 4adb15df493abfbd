"""Arithmetic on the constants of ONNX files: what exporters leave to be computed when a file is loaded.

Floats are float32 and integers int64, whatever the file says.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi.engine.evaluators.backends.graphs.graph import GraphError

Array = NDArray[Any]
Attributes = dict[str, Any]
Range = tuple[int, int, int]
"""Start, stop and step along an axis."""

LARGEST = 1 << 30
"""Numbers in a constant: a small file may ask for any size."""
FLOAT_TYPES = (1, 10, 11, 16)
"""ONNX's numbers of float32, float16, float64 and bfloat16."""
INTEGER_TYPES = (2, 3, 4, 5, 6, 7, 9, 12, 13)
"""Those of integers and truth values."""


def normalised(array: Array) -> Array:
    """A tensor of a file as float32 or int64."""
    if array.dtype.kind in "iub":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "f" or array.dtype.name == "bfloat16":
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            return array.astype(np.float32, copy=False)
    raise GraphError(f"a tensor of {array.dtype}")


def compute(operator: str, inputs: Sequence[Array], attributes: Attributes) -> Array | None:
    """What a node computes of constants; None: it is not known here."""
    function = _FUNCTIONS.get(operator)
    if function is None:
        return None
    with np.errstate(all="ignore"):  # what is not finite shows in the network's outputs
        return np.asarray(function(list(inputs), attributes), order="C")


def slice_ranges(shape: Sequence[int], inputs: Sequence[Array], attributes: Attributes) -> list[Range]:
    """The part of each axis that Slice takes, of an array of this shape."""
    given = inputs or [np.array(attributes[name]) for name in ("starts", "ends", "axes") if name in attributes]
    starts, ends, *rest = (part.reshape(-1).tolist() for part in given)
    axes = rest[0] if rest else list(range(len(starts)))
    steps = rest[1] if len(rest) > 1 else [1] * len(starts)
    ranges = [(0, size, 1) for size in shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 1:
            raise GraphError("a Slice that does not go forward")
        part = range(shape[axis])[start:end:step]
        ranges[axis] = (part.start, part.stop, part.step)
    return ranges


def axes_of(inputs: Sequence[Array], attributes: Attributes) -> list[int] | None:
    """The axes of a node, which older files have as an attribute and newer ones as the second input."""
    if "axes" in attributes:
        return [int(axis) for axis in attributes["axes"]]
    return [int(axis) for axis in inputs[0].reshape(-1)] if inputs else None


def squeezed(shape: Sequence[int], axes: Sequence[int] | None) -> list[int]:
    """A shape without these axes, whose length is 1; None: without all of that length."""
    chosen = {axis % len(shape) for axis in axes} if axes is not None else {i for i, n in enumerate(shape) if n == 1}
    if any(shape[axis] != 1 for axis in chosen):
        raise GraphError("a Squeeze of an axis that is longer than 1")
    return [size for axis, size in enumerate(shape) if axis not in chosen]


def unsqueezed(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """A shape with further axes of length 1, which are then at these places."""
    rank = len(shape) + len(axes)
    chosen = {axis % rank for axis in axes}
    if len(chosen) < len(axes):
        raise GraphError("an Unsqueeze that names an axis twice")
    sizes = iter(shape)
    return [1 if axis in chosen else next(sizes) for axis in range(rank)]


def _limited(shape: Sequence[int]) -> None:
    if math.prod(shape) > LARGEST:
        raise GraphError(f"a constant with more than {LARGEST} numbers")


def _concat(inputs: list[Array], attributes: Attributes) -> Array:
    _limited([sum(array.size for array in inputs)])
    return np.concatenate(inputs, int(attributes["axis"]))


def _gather(inputs: list[Array], attributes: Attributes) -> Array:
    _limited([inputs[0].size, inputs[1].size])
    return np.take(inputs[0], inputs[1], int(attributes.get("axis", 0)))


def _slice(inputs: list[Array], attributes: Attributes) -> Array:
    ranges = slice_ranges(inputs[0].shape, inputs[1:], attributes)
    return inputs[0][tuple(slice(*each) for each in ranges)]


def _cast(inputs: list[Array], attributes: Attributes) -> Array:
    if attributes["to"] not in (*FLOAT_TYPES, *INTEGER_TYPES):
        raise GraphError(f"a Cast to the type {attributes['to']}")
    return inputs[0].astype(np.float32 if attributes["to"] in FLOAT_TYPES else np.int64, copy=False)


def _reshape(inputs: list[Array], attributes: Attributes) -> Array:
    sizes = inputs[1].reshape(-1).tolist()
    if not attributes.get("allowzero", 0):
        sizes = [size or inputs[0].shape[axis] for axis, size in enumerate(sizes)]
    return inputs[0].reshape(sizes)


def _binary(function: Callable[[Array, Array], Array]) -> Callable[[list[Array], Attributes], Array]:
    def compute(inputs: list[Array], _: Attributes) -> Array:
        a, b = inputs
        _limited(np.broadcast_shapes(a.shape, b.shape))
        return function(a, b)

    return compute


def _divide(a: Array, b: Array) -> Array:
    """As ONNX: integers are rounded to zero."""
    if a.dtype.kind != "i":
        return a / b
    if not b.all():
        raise GraphError("a division by zero")
    return (np.sign(a) * np.sign(b)) * (np.abs(a) // np.abs(b))


_FUNCTIONS: dict[str, Callable[[list[Array], Attributes], Array]] = {
    "Identity": lambda inputs, _: inputs[0],
    "Dropout": lambda inputs, _: inputs[0],
    "Cast": _cast,
    "Reshape": _reshape,
    "Squeeze": lambda inputs, attributes: inputs[0].reshape(squeezed(inputs[0].shape, axes_of(inputs[1:], attributes))),
    "Unsqueeze": lambda inputs, attributes: inputs[0].reshape(
        unsqueezed(inputs[0].shape, axes_of(inputs[1:], attributes) or [])
    ),
    "Transpose": lambda inputs, attributes: inputs[0].transpose(attributes.get("perm")),
    "Shape": lambda inputs, attributes: np.array(
        inputs[0].shape[attributes.get("start", 0) : attributes.get("end")], np.int64
    ),
    "Slice": _slice,
    "Concat": _concat,
    "Gather": _gather,
    "Add": _binary(np.add),
    "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply),
    "Div": _binary(_divide),
    "Sqrt": lambda inputs, _: np.sqrt(inputs[0]).astype(np.float32),
    "Reciprocal": lambda inputs, _: 1 / inputs[0],
    "Neg": lambda inputs, _: -inputs[0],
}
