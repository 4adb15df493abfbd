"""A `Graph` in the making: what each name of the file stands for, and the operations so far."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto

from fukayomi.engine.evaluators.backends.graphs.constants import LARGEST, normalised
from fukayomi.engine.evaluators.backends.graphs.graph import BATCH, Floats, GraphError, Operation, Shape

Array = NDArray[Any]
LARGEST_CONSTANTS = 4 << 30
"""Bytes of all constants, which a file may hold as float16 and repeat."""
LARGEST_ACTIVATION = 1 << 22
"""Numbers of an array for each position."""


@dataclass(frozen=True)
class Value:
    """An array that is computed from the inputs."""

    name: str
    shape: Shape


class Builder:
    """What is known of a file so far.

    Args:
        batch: The only N that the file takes; 0: any.
        version: Version of ONNX's operators.
    """

    def __init__(self, batch: int, version: int) -> None:
        self.version = version
        self.operations: list[Operation] = []
        self.constants: dict[str, Floats] = {}
        """Those that operations read."""
        self._batch = batch
        self._known: dict[str, Value | Array] = {}
        self._bytes = 0

    def emit(
        self, place: str, kind: str, inputs: Sequence[str], output: str, shape: Sequence[int], **settings: Any
    ) -> None:
        """Add an operation."""
        size, n = math.prod(shape), self._batch or BATCH
        if min(shape, default=1) < 1:
            raise GraphError("it makes an array without numbers")
        if size % n or (not self._batch and size // n % n == 0):
            raise GraphError("it mixes the positions of a batch")
        if size // n > LARGEST_ACTIVATION:
            raise GraphError(f"it makes more than {LARGEST_ACTIVATION} numbers of a position")
        self.operations.append(Operation(kind, tuple(inputs), output, tuple(shape), place, settings))
        self._known[output] = Value(output, tuple(shape))

    def keep(self, name: str, array: Array) -> str:
        """Keep a constant that operations read; returns its name."""
        self._require_memory(4 * array.size)
        self.constants[name] = np.asarray(array, np.float32, order="C")
        return name

    def find(self, name: str) -> Value | Array:
        """What a name stands for."""
        if name not in self._known:
            raise GraphError(f"its input {name!r} is not known: it comes later in the file, or nowhere")
        return self._known[name]

    def knows(self, name: str) -> bool:
        """True if a name stands for something."""
        return name in self._known

    def let(self, name: str, meaning: Value | Array) -> None:
        """Let a name stand for an array that is computed, or for a constant."""
        if not isinstance(meaning, Value):
            self._require_memory(meaning.nbytes)
            meaning = normalised(meaning)
        self._known[name] = meaning

    def _require_memory(self, count: int) -> None:
        self._bytes += count
        if count > 4 * LARGEST or self._bytes > LARGEST_CONSTANTS:
            raise GraphError(f"the constants of the file take more than {LARGEST_CONSTANTS >> 30} GiB")


class Node:
    """A node of the file, with what its inputs stand for."""

    def __init__(self, builder: Builder, node: NodeProto) -> None:
        get = cast("Callable[[Any], Any]", onnx.helper.get_attribute_value)
        self.builder = builder
        self.operator = node.op_type
        self.domain = node.domain
        self.inputs = list(node.input)
        self.outputs = [name for name in node.output if name]
        self.place = f"the {node.op_type} node {node.name or ', '.join(node.output)!r}"
        self.attributes: dict[str, Any] = {each.name: get(each) for each in node.attribute}

    def attribute(self, name: str, default: Any) -> Any:
        """An attribute as a Python value."""
        return self.attributes.get(name, default)

    def has(self, number: int) -> bool:
        """True if there is such an input."""
        return number < len(self.inputs) and bool(self.inputs[number])

    def value(self, number: int = 0) -> Value:
        """An input that is computed."""
        found = self.builder.find(self.inputs[number])
        if not isinstance(found, Value):
            raise GraphError(f"its input {self.inputs[number]!r} is a constant")
        return found

    def array(self, number: int) -> Array:
        """An input that is a constant."""
        found = self.builder.find(self.inputs[number])
        if isinstance(found, Value):
            raise GraphError(f"its input {self.inputs[number]!r} is not a constant")
        return found

    def arrays(self) -> list[Array]:
        """All inputs but the first, which are constants."""
        return [self.array(number) for number in range(1, len(self.inputs)) if self.has(number)]

    def either(self, number: int) -> Value:
        """An input of any kind, a constant as an array that operations read."""
        found = self.builder.find(self.inputs[number])
        if isinstance(found, Value):
            return found
        name = self.inputs[number]
        return Value(name if name in self.builder.constants else self.builder.keep(name, found), found.shape)

    def keep(self, role: str, array: Array) -> str:
        """Keep a constant of this node's own."""
        return self.builder.keep(f"{self.outputs[0]}/{role}", array)

    def emit(self, kind: str, inputs: Sequence[str], shape: Sequence[int], output: str = "", **settings: Any) -> None:
        """Add an operation in place of this node."""
        self.builder.emit(self.place, kind, inputs, output or self.outputs[0], shape, **settings)

    def pass_on(self, source: Value) -> None:
        """Let the output be an input."""
        self.builder.let(self.outputs[0], source)

    def reshape(self, source: Value, shape: Sequence[int], output: str = "") -> None:
        """Add a Reshape, unless it changes nothing."""
        if math.prod(shape) != math.prod(source.shape):
            raise GraphError(f"{shape_text(source.shape)} cannot become {shape_text(shape)}")
        if tuple(shape) == source.shape:
            self.builder.let(output or self.outputs[0], source)
        else:
            self.emit("Reshape", [source.name], shape, output)


def shape_text(shape: Sequence[int]) -> str:
    """A shape for messages: "[N, 27, 9, 9]"."""
    return f"[{', '.join(map(_size_text, shape))}]"


def _size_text(size: int) -> str:
    if size == BATCH:
        return "N"
    return str(size) if size % BATCH else f"{size // BATCH}N"
