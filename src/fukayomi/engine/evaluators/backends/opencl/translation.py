"""From a graph of operations to layers: which of them a kernel computes together.

Reshape, Transpose and Slice compute nothing: they say where numbers lie. What a name stands for is therefore a value
with the place of each of its numbers there, and attention is known by the places of its queries, keys and values,
however an exporter writes them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import POLICY_LABELS
from fukayomi.engine.evaluators.backends.graphs.graph import BATCH, Graph, GraphError, Operation
from fukayomi.engine.evaluators.backends.opencl.layers import (
    Activation,
    Affine,
    Attention,
    Convolution,
    Excitation,
    Floats,
    Layer,
    Layers,
    Mean,
    Sum,
    Value,
)

SQUARES = 81
KERNELS = ((1, 1), (3, 3), (9, 1), (1, 9))
ACTIVATIONS = {"Relu": Activation.RELU, "Silu": Activation.SILU, "Sigmoid": Activation.SIGMOID}
SCALE_ERROR = 1e-3
"""Relative error of attention's scale, which some exporters write as the product of two roots."""


@dataclass(frozen=True, slots=True)
class View:
    """What a name stands for: numbers of a value."""

    value: Value
    places: NDArray[np.int64]
    """Place of each number in the value, in the shape of the array without N."""
    scale: float = 1.0
    """Factor of all numbers, of queries and keys."""

    @property
    def is_whole(self) -> bool:
        """True if these are all numbers of the value in their order, unchanged."""
        count = self.value.numbers
        return self.scale == 1 and self.places.size == count and np.array_equal(self.places.ravel(), np.arange(count))


@dataclass(frozen=True, slots=True)
class Scores:
    """Products of queries and keys, or the weights that softmax makes of them."""

    queries: View
    keys: View
    are_weights: bool = False


Term: TypeAlias = View | Scores


def whole(value: Value) -> View:
    """All of a value: a map as [C, 9, 9], a list as [D]."""
    shape = (value.rows, 9, 9) if value.squares == SQUARES else (value.rows,)
    return View(value, np.arange(value.numbers).reshape(shape))


def translate(graph: Graph) -> Layers:
    """The layers of a network.

    Raises:
        GraphError: It has an operation that no kernel computes; the message names the node.
    """
    return Translator(graph).translate()


class Translator:
    """The layers so far, and what each name stands for."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._terms: dict[str, Term] = {}
        self._layers: list[Layer] = []
        self._policy_bias: Floats | None = None
        self._uses: dict[str, int] = {graph.policy: 1, graph.value: 1}
        self._shared: set[Value] = set()
        """Values that several operations read: what follows is not put into the layer that makes them."""
        for operation in graph.operations:
            for name in operation.inputs:
                self._uses[name] = self._uses.get(name, 0) + 1

    def translate(self) -> Layers:
        """The layers of all operations."""
        input1, input2 = (Value(self._graph.inputs[name][1], SQUARES) for name in ("input1", "input2"))
        self._terms |= {"input1": whole(input1), "input2": whole(input2)}
        for operation in self._graph.operations:
            try:
                term = OPERATIONS[operation.kind](self, operation)
            except GraphError as error:
                raise GraphError(f"{operation.place}: {error}") from error
            except (KeyError, ValueError) as error:
                raise GraphError(f"{operation.place}: no kernel computes {operation.kind} here") from error
            self._terms[operation.output] = term
            if isinstance(term, View) and self._uses.get(operation.output) != 1:
                self._shared.add(term.value)
        policy, value = (self._whole(name) for name in (self._graph.policy, self._graph.value))
        bias = np.zeros(POLICY_LABELS, np.float32) if self._policy_bias is None else self._policy_bias
        return Layers(input1, input2, self._layers, policy, bias, value)

    def _view(self, name: str) -> View:
        term = self._terms[name]
        if not isinstance(term, View):
            raise GraphError("the scores of attention are used for something else")
        return term

    def _whole(self, name: str) -> Value:
        view = self._view(name)
        if not view.is_whole:
            raise GraphError("it reads a part of an array, or in another order")
        return view.value

    def _constant(self, name: str) -> Floats:
        return self._graph.constants[name]

    def _made(self, layer: Layer) -> View:
        self._layers.append(layer)
        return whole(layer.out)

    def _fused(self, value: Value, **changes: Any) -> View | None:
        """Change the layer that makes a value, if nothing else reads it and it has nothing after its sum yet.

        Args:
            value: The value.
            changes: Fields of the layer: an activation, or a residual.
        """
        if value in self._shared:
            return None
        number = next((number for number, layer in enumerate(self._layers) if layer.out is value), None)
        layer = None if number is None else self._layers[number]
        if number is None or layer is None or isinstance(layer, Mean) or layer.activation != Activation.NONE:
            return None
        if "residual" in changes and not (isinstance(layer, Convolution | Excitation) and layer.residual is None):
            return None
        out = Value(value.rows, value.squares)
        self._layers[number] = replace(layer, out=out, **changes)
        return whole(out)

    def convolution(self, operation: Operation) -> Term:
        """Conv."""
        source, weights = self._whole(operation.inputs[0]), self._constant(operation.inputs[1])
        settings = operation.settings
        height, width = weights.shape[2:]
        same = (height // 2, width // 2) * 2
        squares = math.prod(operation.shape[2:])
        is_known = (height, width) in KERNELS and settings["pads"] == same and settings["strides"] == (1, 1)
        if not is_known or settings["dilations"] != (1, 1) or settings["group"] != 1 or squares != source.squares:
            raise GraphError(f"a convolution of {height}x{width} that no kernel computes")
        weights = weights[:, : source.rows]  # what is left out was padded with zeros
        out = Value(len(weights), source.squares)
        return self._made(Convolution(source, out, weights, self._constant(operation.inputs[2]), Activation.NONE))

    def dense(self, operation: Operation) -> Term:
        """Dense, of a list or of all numbers of a map."""
        source, weights = self._whole(operation.inputs[0]), self._constant(operation.inputs[1])
        if len(operation.shape) != 2 or weights.shape[1] != source.numbers:
            raise GraphError("a dense layer of a part of the numbers")
        out = Value(len(weights), 1)
        bias = self._constant(operation.inputs[2])
        return self._made(Convolution(source, out, weights[:, :, None, None], bias, Activation.NONE))

    def affine(self, operation: Operation) -> Term:
        """Affine."""
        source = self._whole(operation.inputs[0])
        scale, shift = (self._constant(name) for name in operation.inputs[1:])
        if len(scale) != source.rows:
            raise GraphError("factors of something else than channels")
        return self._made(Affine(source, Value(source.rows, source.squares), scale, shift, Activation.NONE))

    def activation(self, operation: Operation) -> Term:
        """Relu, Silu, Sigmoid: in the layer before, where nothing else reads that."""
        source, function = self._whole(operation.inputs[0]), ACTIVATIONS[operation.kind]
        fused = self._fused(source, activation=function)
        if fused is not None:
            return self._shaped(fused, operation)
        ones, zeros = np.ones(source.rows, np.float32), np.zeros(source.rows, np.float32)
        made = self._made(Affine(source, Value(source.rows, source.squares), ones, zeros, function))
        return self._shaped(made, operation)

    def add(self, operation: Operation) -> Term:
        """Add: of two values, or of the policy's bias."""
        constants = [name for name in operation.inputs if name in self._graph.constants]
        if constants:
            return self._bias(operation, constants[0])
        one, other = (self._whole(name) for name in operation.inputs)
        if (one.rows, one.squares) != (other.rows, other.squares):
            raise GraphError("a sum of different shapes")
        order = {layer.out: number for number, layer in enumerate(self._layers)}
        later, earlier = (one, other) if order.get(one, -1) > order.get(other, -1) else (other, one)
        fused = None if later is earlier else self._fused(later, residual=earlier)
        if fused is None:
            fused = self._made(Sum(one, other, Value(one.rows, one.squares), Activation.NONE))
        return self._shaped(fused, operation)

    def _bias(self, operation: Operation, constant: str) -> Term:
        name = next(name for name in operation.inputs if name != constant)
        source, numbers = self._whole(name), self._constant(constant).reshape(-1)
        if operation.output == self._graph.policy and source.numbers == numbers.size == POLICY_LABELS:
            self._policy_bias = numbers
            return self._view(name)
        if numbers.size != source.rows or source.squares != 1:
            raise GraphError("a sum with a constant")
        return self._made(Affine(source, Value(source.rows, 1), np.ones_like(numbers), numbers, Activation.NONE))

    def multiply(self, operation: Operation) -> Term:
        """Mul: of a map by factors of its channels, or of queries or keys by a number."""
        constants = [name for name in operation.inputs if name in self._graph.constants]
        if constants:
            name, factor = next(name for name in operation.inputs if name != constants[0]), self._constant(constants[0])
            view = self._view(name)
            return View(view.value, view.places, view.scale * factor.item())
        source, factors = sorted((self._whole(name) for name in operation.inputs), key=lambda value: -value.squares)
        if source.squares != SQUARES or factors.squares != 1 or source.rows != factors.rows:
            raise GraphError("a product of different shapes")
        return self._made(Excitation(source, factors, Value(source.rows, SQUARES), Activation.NONE))

    def divide(self, operation: Operation) -> Term:
        """Div: of queries, keys or scores by a number."""
        view = self._terms[operation.inputs[0]]
        factor = 1 / self._constant(operation.inputs[1]).item()
        if isinstance(view, Scores):
            return replace(view, queries=replace(view.queries, scale=view.queries.scale * factor))
        return replace(view, scale=view.scale * factor)

    def mean(self, operation: Operation) -> Term:
        """Mean over the board, and of all channels too."""
        source, axes = self._whole(operation.inputs[0]), operation.settings["axes"]
        if axes not in ((2, 3), (1, 2, 3)) or source.squares != SQUARES:
            raise GraphError("a mean of something else than the board")
        made = self._made(Mean(source, Value(source.rows, 1)))
        if axes[0] == 1:
            weights = np.full((1, source.rows, 1, 1), 1 / source.rows, np.float32)
            out = Value(1, 1)
            made = self._made(Convolution(made.value, out, weights, np.zeros(1, np.float32), Activation.NONE))
        return self._shaped(made, operation)

    def product(self, operation: Operation) -> Term:
        """MatMul: of queries and keys, or of weights and values."""
        first, second = (self._terms[name] for name in operation.inputs)
        if isinstance(first, View) and isinstance(second, View):
            return Scores(first, second)
        if not isinstance(first, Scores) or not first.are_weights or not isinstance(second, View):
            raise GraphError("a product of two arrays that is not attention")
        return self._attention(first, second)

    def softmax(self, operation: Operation) -> Term:
        """Softmax of the scores of attention."""
        scores = self._terms[operation.inputs[0]]
        if not isinstance(scores, Scores) or operation.settings["axis"] != len(operation.shape) - 1:
            raise GraphError("a softmax that is not attention")
        return replace(scores, are_weights=True)

    def _attention(self, weights: Scores, values: View) -> Term:
        queries, keys = weights.queries, weights.keys
        heads, squares, width = map(int, queries.places.shape)
        channels = heads * width
        expected: NDArray[np.int64] = np.arange(channels * SQUARES).reshape(heads, width, SQUARES)
        parts = queries.places.transpose(0, 2, 1), keys.places, values.places.transpose(0, 2, 1)
        is_known = queries.value is keys.value is values.value and squares == SQUARES and values.scale == 1
        is_known = is_known and queries.value.numbers == 3 * expected.size
        for number, part in enumerate(parts):
            is_known = is_known and np.array_equal(part, expected + number * expected.size)
        if not is_known:
            raise GraphError("an attention that no kernel computes")
        if not math.isclose(queries.scale * keys.scale, width**-0.5, rel_tol=SCALE_ERROR):
            raise GraphError("the scores of attention are not divided by the root of the head's width")
        layer = Attention(queries.value, Value(channels, SQUARES), heads, Activation.NONE)
        self._layers.append(layer)
        return View(layer.out, expected.transpose(0, 2, 1))

    def reshape(self, operation: Operation) -> Term:
        """Reshape: the same numbers in the same order."""
        return self._shaped(self._view(operation.inputs[0]), operation)

    def _shaped(self, view: View, operation: Operation) -> View:
        """Numbers in the shape of an operation, in which axes may be taken together with N."""
        first, *rest = operation.shape
        count = first // (self._graph.batch or BATCH)
        return replace(view, places=view.places.reshape(rest if count == 1 else [count, *rest]))

    def transpose(self, operation: Operation) -> Term:
        """Transpose: of the axes after the first."""
        view, order = self._view(operation.inputs[0]), operation.settings["order"]
        shift = view.places.ndim - (len(order) - 1)  # 1 where the first axis is N and another one
        if order[0] != 0:
            raise GraphError("it moves the axis of the positions")
        axes = [0] * shift + [axis - 1 + shift for axis in order[1:]]
        return replace(view, places=view.places.transpose(axes))

    def slice(self, operation: Operation) -> Term:
        """Slice."""
        view = self._view(operation.inputs[0])
        parts = tuple(slice(None) if part is None else slice(*part) for part in operation.settings["ranges"][1:])
        return replace(view, places=view.places[parts])

    def pad(self, operation: Operation) -> Term:
        """Pad: channels of zeros after those of an input, which the next convolution leaves out."""
        before, after, view = operation.settings["before"], operation.settings["after"], self._view(operation.inputs[0])
        if any(before) or any(after[:1]) or any(after[2:]) or operation.settings["value"] or not view.is_whole:
            raise GraphError("it adds something else than channels of zeros")
        return view


OPERATIONS: dict[str, Callable[[Translator, Operation], Term]] = {
    "Conv": Translator.convolution,
    "Dense": Translator.dense,
    "Affine": Translator.affine,
    "Relu": Translator.activation,
    "Silu": Translator.activation,
    "Sigmoid": Translator.activation,
    "Add": Translator.add,
    "Mul": Translator.multiply,
    "Div": Translator.divide,
    "Mean": Translator.mean,
    "MatMul": Translator.product,
    "Softmax": Translator.softmax,
    "Reshape": Translator.reshape,
    "Transpose": Translator.transpose,
    "Slice": Translator.slice,
    "Pad": Translator.pad,
}
