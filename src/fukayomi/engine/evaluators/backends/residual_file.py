"""Residual networks from ONNX files: their weights, found by following the graph from its outputs to its inputs.

A residual network has dlshogi's inputs and heads; its stem is a sum of convolutions, each block two 3x3 convolutions
whose sum with the block's input is activated. `fukayomi export` and dlshogi write such graphs, with BatchNorm folded or
not, weights as float16 or float32, and kernels padded with zeros. Names do not matter. Anything else in the graph makes
the file one for another backend.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, numpy_helper

from fukayomi._native import FEATURES1, FEATURES2, POLICY_LABELS
from fukayomi.engine.evaluators.float_model import INPUTS, OUTPUTS
from fukayomi.errors import InvalidValueError

Floats = NDArray[np.float32]
Activation = Literal["relu", "silu"]

SQUARES = 81
DIRECTIONS = POLICY_LABELS // SQUARES
SAME = ("Identity", "Cast", "Dropout")
"""Nodes that pass their input on; a Cast between floats changes precision at most."""
FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16)


MOST_TERMS = 8
"""Convolutions in the sum of a stem; exporters write up to three."""
LARGEST_WEIGHTS = 1 << 30
"""Bytes of the weights in the core, at Winograd's points and with padded channels. A small file may repeat tensors."""
DAMAGE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions from reading a graph where nodes have too few inputs, or tensors odd shapes."""


class OtherNetworkError(InvalidValueError):
    """The graph is not that of a residual network."""


class DamagedFileError(OtherNetworkError):
    """It is no network at all."""


@dataclass
class Layer:
    """A convolution with what was folded into it, or a dense layer."""

    source: str
    """Name of its input."""
    weights: Floats
    """[K, C, 1, 1] or [K, C, 3, 3]; of a dense layer [K, C]."""
    bias: Floats
    """[K]"""

    def scaled(self, factor: Floats, shift: Floats | float = 0.0) -> "Layer":
        """Its outputs times a factor, plus a shift, each [K]."""
        return Layer(self.source, self.weights * factor[:, None, None, None], self.bias * factor + shift)


@dataclass(frozen=True)
class ResidualWeights:
    """The parameters of a residual network with C channels, B blocks, V value channels and H hidden units."""

    activation: Activation
    """Of the trunk and the value head."""
    stem1: Floats
    """[C, 62, 3, 3]"""
    stem2: Floats
    """[C, 57], or 58 with the plane of the colour to move."""
    stem_bias: Floats
    """[C]"""
    tower: Sequence[Layer]
    """Two for each block, from the stem up."""
    policy: Floats
    """[27, C]"""
    policy_bias: Floats
    """[2187]"""
    value: Floats
    """[V, C]"""
    value_bias: Floats
    """[V]"""
    hidden: Floats
    """[H, V * 81]"""
    hidden_bias: Floats
    """[H]"""
    last: Floats
    """[H]"""
    last_bias: Floats
    """[1]"""

    @property
    def channels(self) -> int:
        """C."""
        return len(self.stem1)

    def arrays(self) -> dict[str, Floats]:
        """All parameters as contiguous arrays; the tower as [2B, C, C, 3, 3] and [2B, C]."""
        c, tower = self.channels, self.tower
        names = {each.name for each in fields(self)} - {"activation", "tower"}
        found = {name: getattr(self, name) for name in names}
        found["tower"] = np.array([each.weights for each in tower]).reshape(-1, c, c, 3, 3)
        found["tower_bias"] = np.array([each.bias for each in tower]).reshape(-1, c)
        return {name: np.ascontiguousarray(array, np.float32) for name, array in found.items()}


def read_residual(path: Path) -> ResidualWeights:
    """The weights of a residual network.

    Raises:
        DamagedFileError: The file cannot be read as ONNX.
        OtherNetworkError: The graph is another one; the message says where.
    """
    try:
        model = onnx.load(path, load_external_data=False)  # pyright: ignore[reportUnknownMemberType]
    except Exception as error:  # protobuf's and the operating system's errors have no common base
        raise DamagedFileError(f"this is not an ONNX file, or it is damaged: {error}") from error
    try:
        weights = _Reader(model).read()
        if not all(np.isfinite(array).all() for array in weights.arrays().values()):
            raise OtherNetworkError("a weight is not finite")
    except OtherNetworkError:
        raise
    except DAMAGE as error:
        raise OtherNetworkError(f"its graph is damaged: {error}") from error
    return weights


class _Reader:
    """Follows the graph of one file."""

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self._arrays = {tensor.name: tensor for tensor in graph.initializer}
        if any(tensor.data_location == tensor.EXTERNAL for tensor in graph.initializer):
            raise OtherNetworkError("its weights are in another file")
        self._planes = self._inputs(graph)
        self._activations: set[Activation] = set()
        self._makers: dict[str, NodeProto] = {}
        known = set(self._planes) | set(self._arrays)
        for node in graph.node:
            if node.domain not in ("", "ai.onnx") or model.functions:
                raise OtherNetworkError("it has functions of its own")
            if not known.issuperset(filter(None, node.input)):
                raise OtherNetworkError(f"{node.op_type} comes before its inputs")
            outputs = list(filter(None, node.output))
            if known.intersection(outputs) or len(set(outputs)) < len(outputs):
                raise OtherNetworkError(f"two nodes have the same output as {node.op_type}")
            known.update(outputs)
            self._makers[node.output[0]] = node
        if not set(OUTPUTS) <= set(self._makers):
            raise OtherNetworkError("it has no output_policy or output_value")

    def _inputs(self, graph: onnx.GraphProto) -> dict[str, int]:
        """The planes of each input."""
        planes: dict[str, int] = {}
        for value in graph.input:
            kind = value.type.tensor_type
            shape = [dim.dim_value for dim in kind.shape.dim]
            if value.name in self._arrays:
                continue
            if value.name not in INPUTS or kind.elem_type not in FLOATS or len(shape) != 4 or shape[2:] != [9, 9]:
                raise OtherNetworkError(f"its input {value.name} is another one")
            planes[value.name] = shape[1]
        if planes not in ({"input1": FEATURES1, "input2": count} for count in (FEATURES2, FEATURES2 + 1)):
            raise OtherNetworkError(f"its inputs have these planes: {planes}")
        return planes

    def read(self) -> ResidualWeights:
        """All weights of the network."""
        policy, policy_bias = self._policy()
        value, hidden, last = self._value()
        if value.source != policy.source:
            raise OtherNetworkError("policy and value begin at different layers")
        self._require_memory(policy.weights.shape[1], 0, len(value.weights), len(hidden.weights))
        tower, total = self._tower(policy)
        stem1, stem2, stem_bias = self._stem(total)
        if len(self._activations) != 1:
            raise OtherNetworkError("it has several kinds of activations")
        c, v, units = len(stem1), len(value.weights), len(hidden.weights)
        shapes: list[tuple[Floats, tuple[int, ...]]] = [
            (stem1, (c, FEATURES1, 3, 3)), (stem2, (c, self._planes["input2"])), (stem_bias, (c,)),
            (policy.weights, (DIRECTIONS, c, 1, 1)), (policy_bias, (POLICY_LABELS,)), (value.weights, (v, c, 1, 1)),
            (value.bias, (v,)), (hidden.weights, (units, v * SQUARES)), (hidden.bias, (units,)),
            (last.weights, (1, units)), (last.bias, (1,)), *((each.weights, (c, c, 3, 3)) for each in tower),
            *((each.bias, (c,)) for each in tower),
        ]  # fmt: skip
        for array, shape in shapes:
            if array.shape != shape:
                raise OtherNetworkError(f"a layer is {list(array.shape)} where {list(shape)} would fit")
        return ResidualWeights(
            self._activations.pop(), stem1, stem2, stem_bias, tower, policy.weights[:, :, 0, 0], policy_bias,
            value.weights[:, :, 0, 0], value.bias, hidden.weights, hidden.bias, last.weights[0], last.bias,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------ parts of the network

    def _policy(self) -> tuple[Layer, Floats]:
        """The policy's convolution, and the bias of each label."""
        flat, bias = self._biased(OUTPUTS[0])
        convolution = self._convolution(self._flattened(flat))
        same = np.repeat(convolution.bias, SQUARES)
        return convolution, same if bias is None else same + bias.reshape(-1)

    def _value(self) -> tuple[Layer, Layer, Layer]:
        """The value's convolution, its hidden layer and its last one."""
        last = self._dense(self._maker(OUTPUTS[1], "Sigmoid").input[0])
        hidden = self._dense(self._activated(last.source))
        return self._convolution(self._activated(self._flattened(hidden.source))), hidden, last

    def _tower(self, policy: Layer) -> tuple[list[Layer], str]:
        """The convolutions of the blocks, from the stem up, and the sum that the stem activates."""
        tower: list[Layer] = []
        trunk = policy.source
        while (block := self._block(total := self._activated(trunk))) is not None:
            tower[:0] = block
            trunk = block[0].source
            self._require_memory(policy.weights.shape[1], len(tower), 0, 0)
        return tower, total

    def _require_memory(self, channels: int, layers: int, values: int, units: int) -> None:
        """Refuse what takes too much memory in the core."""
        c, v, h = (-(-count // 32) * 32 for count in (channels, values, units))
        if 4 * (25 * layers * c * c + SQUARES * v * h + 600 * c) > LARGEST_WEIGHTS:
            raise OtherNetworkError(f"its weights would take more than {LARGEST_WEIGHTS >> 20} MiB")

    def _block(self, total: str) -> tuple[Layer, Layer] | None:
        """The convolutions of the block whose sum this is; None: it is the stem's."""
        maker = self._makers.get(self._source(total))
        if maker is None or maker.op_type != "Add":
            return None
        for name, other in (maker.input, list(reversed(maker.input))):
            if not self._is_convolution(name):
                continue
            second = self._convolution(name)
            if second.source in self._planes:
                continue
            first = self._convolution(self._activated(second.source))
            if first.source != self._source(other):
                continue
            if any(each.weights.shape[2:] != (3, 3) for each in (first, second)):
                raise OtherNetworkError("a block has other kernels than 3x3")
            return first, second
        return None

    def _stem(self, total: str) -> tuple[Floats, Floats, Floats]:
        """The sum of the convolutions of the inputs: their kernels for each input, and the bias."""
        kernels: dict[str, Floats] = {}
        bias: Floats = np.zeros(1, np.float32)
        for term in self._terms(total):
            planes = self._planes.get(term.source)
            if planes is None or (term.source == "input2" and term.weights.shape[2:] != (1, 1)):
                raise OtherNetworkError(f"its stem has a convolution {list(term.weights.shape)} of {term.source}")
            kernel = term.weights
            if kernel.shape[1] != planes:
                raise OtherNetworkError(f"its stem has a convolution of {kernel.shape[1]} planes of {term.source}")
            if term.source == "input1" and kernel.shape[2:] == (1, 1):  # the middle of a larger one
                kernel = np.pad(kernel, ((0, 0), (0, 0), (1, 1), (1, 1)))
            kernels[term.source] = kernels[term.source] + kernel if term.source in kernels else kernel
            bias = bias + term.bias
        if len(kernels) != 2:
            raise OtherNetworkError("its stem is not a sum of convolutions of both inputs")
        return kernels["input1"], kernels["input2"][:, :, 0, 0], bias

    # ---------------------------------------------------------------------------------------------- steps in the graph

    def _source(self, name: str) -> str:
        """The tensor before nodes that pass it on."""
        while (node := self._makers.get(name)) is not None and self._passes_on(node):
            name = node.input[0]
        return name

    def _passes_on(self, node: NodeProto) -> bool:
        """True if a node's output is its input."""
        return node.op_type in SAME and (node.op_type != "Cast" or _attribute(node, "to", 0) in FLOATS)

    def _unpadded(self, name: str, kernel: Floats) -> tuple[str, Floats]:
        """The input of a convolution before planes of zeros were added after its own, and the kernel without them."""
        source = self._source(name)
        node = self._makers.get(source)
        if node is None or node.op_type != "Pad":
            return source, kernel
        inner = self._source(node.input[0])
        pads = self._floats(node.input[1]).reshape(-1).tolist()
        value = self._floats(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros(1)
        is_plain = _attribute(node, "mode", b"constant") == b"constant" and len(node.input) < 4 and not value.any()
        added = kernel.shape[1] - self._planes.get(inner, kernel.shape[1])
        if not is_plain or added <= 0 or pads != [0, 0, 0, 0, 0, added, 0, 0]:
            raise OtherNetworkError("it pads something else than planes of an input")
        return inner, kernel[:, : self._planes[inner]]

    def _maker(self, name: str, *kinds: str) -> NodeProto:
        """The node that makes a tensor, of one of these kinds."""
        node = self._makers.get(self._source(name))
        if node is None or node.op_type not in kinds:
            raise OtherNetworkError(f"{'an input' if node is None else node.op_type} instead of {' or '.join(kinds)}")
        return node

    def _constant(self, name: str) -> NDArray[Any] | None:
        """A tensor that the file holds, also cast or transposed; None: it is computed from the inputs."""
        if name in self._arrays:
            return numpy_helper.to_array(self._arrays[name])
        node = self._makers.get(name)
        if node is None:
            return None
        if node.op_type == "Constant":
            return numpy_helper.to_array(_attribute(node, "value", None))
        if node.op_type != "Transpose" and not self._passes_on(node):
            return None
        inner = self._constant(node.input[0])
        if inner is None or node.op_type != "Transpose":
            return inner
        return inner.transpose(_attribute(node, "perm", None))

    def _floats(self, name: str) -> Floats:
        """A constant as float32."""
        found = self._constant(name)
        if found is None:
            raise OtherNetworkError(f"{name} is no constant")
        return found.astype(np.float32)

    def _biased(self, name: str) -> tuple[str, Floats | None]:
        """Tensor that a constant is added to, and the constant; None: nothing is added."""
        node = self._makers.get(self._source(name))
        if node is not None and node.op_type == "Add":
            for this, other in (node.input, list(reversed(node.input))):
                if self._constant(other) is not None:
                    return this, self._floats(other)
        return name, None

    def _flattened(self, name: str) -> str:
        """Tensor that is flattened to [N, all]."""
        return self._maker(name, "Reshape", "Flatten").input[0]

    def _activated(self, name: str) -> str:
        """Tensor that is activated."""
        node = self._maker(name, "Relu", "Mul", "Swish")
        self._activations.add("relu" if node.op_type == "Relu" else "silu")
        if node.op_type != "Mul":
            if _attribute(node, "alpha", 1.0) != 1.0:
                raise OtherNetworkError("Swish with another alpha")
            return self._source(node.input[0])
        for this, other in (node.input, list(reversed(node.input))):
            gate = self._makers.get(other)
            if gate is not None and gate.op_type == "Sigmoid" and self._source(gate.input[0]) == self._source(this):
                return self._source(this)
        raise OtherNetworkError("a product that is no activation")

    def _dense(self, name: str) -> Layer:
        """A dense layer."""
        node = self._makers.get(self._source(name))
        if node is not None and node.op_type == "Gemm":
            plain = [_attribute(node, key, value) for key, value in (("alpha", 1.0), ("beta", 1.0), ("transA", 0))]
            if plain != [1.0, 1.0, 0] or len(node.input) != 3:
                raise OtherNetworkError("a Gemm with other factors")
            weights = self._floats(node.input[1])
            weights = weights if _attribute(node, "transB", 0) else weights.T
            return Layer(node.input[0], weights, self._floats(node.input[2]).reshape(-1))
        product, bias = self._biased(name)
        node = self._maker(product, "MatMul")
        weights = self._floats(node.input[1]).T
        return Layer(node.input[0], weights, np.zeros(len(weights), np.float32) if bias is None else bias.reshape(-1))

    def _is_convolution(self, name: str) -> bool:
        """True if a tensor comes from a convolution."""
        node = self._makers.get(self._source(name))
        return node is not None and node.op_type in ("Conv", "BatchNormalization")

    def _convolution(self, name: str) -> Layer:
        """A convolution, with the BatchNorm that may follow it folded."""
        node = self._maker(name, "Conv", "BatchNormalization")
        if node.op_type == "BatchNormalization":
            factor, shift = self._scale(node)
            return self._convolution(node.input[0]).scaled(factor, shift)
        weights = self._floats(node.input[1])
        bias = self._floats(node.input[2]) if len(node.input) > 2 and node.input[2] else None
        side = weights.shape[-1] if weights.ndim == 4 else 0
        plain = {"group": 1, "strides": [1, 1], "dilations": [1, 1], "pads": [0] * 4, "auto_pad": b"NOTSET"}
        has = {key: _attribute(node, key, value) for key, value in plain.items()}
        if weights.shape[2:] not in ((1, 1), (3, 3)) or has != plain | {"pads": [side // 2] * 4}:
            raise OtherNetworkError(f"a convolution with a kernel of {list(weights.shape)} and {has}")
        source, weights = self._unpadded(node.input[0], weights)
        return Layer(source, weights, np.zeros(len(weights), np.float32) if bias is None else bias)

    def _scale(self, node: NodeProto) -> tuple[Floats, Floats]:
        """The factor and the shift of each channel that a BatchNorm amounts to."""
        if _attribute(node, "training_mode", 0) != 0:
            raise OtherNetworkError("a BatchNorm that is still in training")
        scale, shift, mean, variance = (self._floats(each) for each in node.input[1:5])
        factor: Floats = (scale / np.sqrt(variance + _attribute(node, "epsilon", 1e-5))).astype(np.float32)
        offset: Floats = (shift - mean * factor).astype(np.float32)
        return factor, offset

    def _terms(self, name: str) -> list[Layer]:
        """The convolutions of a sum, with the BatchNorm that may follow the sum folded."""
        node = self._maker(name, "Add", "Conv", "BatchNormalization")
        if node.op_type == "Conv":
            return [self._convolution(name)]
        if node.op_type == "BatchNormalization":
            factor, shift = self._scale(node)
            first, *others = self._terms(node.input[0])
            return [first.scaled(factor, shift), *(term.scaled(factor) for term in others)]
        if len(set(node.input)) < len(node.input):
            raise OtherNetworkError("its stem adds a tensor to itself")
        terms = [term for each in node.input for term in self._terms(each)]
        if len(terms) > MOST_TERMS:
            raise OtherNetworkError(f"its stem has more than {MOST_TERMS} convolutions")
        return terms


def _attribute(node: NodeProto, name: str, default: Any) -> Any:
    """An attribute of a node, as a Python value."""
    get = cast("Callable[[Any], Any]", onnx.helper.get_attribute_value)
    return next((get(each) for each in node.attribute if each.name == name), default)
