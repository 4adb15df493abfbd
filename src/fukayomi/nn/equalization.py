"""Channels of about the same size: scales between convolutions that change no answer and make int8 more exact.

A tensor in uint8 has one scale for all of its channels, so a channel with small values keeps few of the 256 levels.
Between two convolutions a channel may be divided by a number and its weights in the next convolution multiplied by the
same number, since ReLU and additions pass a positive factor on (Nagel et al. 2019, arXiv:1906.04721, section 4.1; here
by the sizes of the activations instead of the weights). In a residual tower all blocks share the channels of the
residual stream, and so its factors. Where an output is only added to the residual stream in float32, each channel has
a scale of its own.
"""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from fukayomi.nn.observing import tensor_values

STRENGTH = 0.75
"""Power of the sizes that is divided out: 1 makes all channels alike, and the weights the most uneven."""
SMALLEST = 0.03
"""A channel smaller than this share of the largest one counts as so large: other positions may excite it more."""

LEVELS, MIDDLE = 255, 128
"""Steps from the smallest to the largest uint8, and the one in the middle."""

Sizes = NDArray[np.float64]


def equalize(model: ModelProto, quantized: Iterable[str], batches: Iterable[Mapping[str, NDArray[Any]]]) -> None:
    """Scale the channels of a network so that those of each quantised tensor are of about the same size, in place.

    Channels that pass an operator other than Conv, Relu and Add are left as they are.

    Args:
        model: A network in float32, whose nodes have names.
        quantized: Names of the convolutions whose inputs and outputs are quantised.
        batches: Inputs of the network, on which the sizes are measured.
    """
    convolutions = {node.name: node for node in model.graph.node if node.op_type == "Conv"}
    relu_of = {node.input[0]: node.output[0] for node in model.graph.node if node.op_type == "Relu"}
    groups = _Groups(model)
    observed: dict[str, list[str]] = {}
    for name in quantized:
        node = convolutions[name]
        for tensor in (node.input[0], relu_of.get(node.output[0], node.output[0])):
            if groups.is_free(tensor) and tensor not in observed.setdefault(groups.of(tensor), []):
                observed[groups.of(tensor)].append(tensor)
    ranges = _ranges(model, [tensor for tensors in observed.values() for tensor in tensors], batches)
    sizes = {tensor: np.maximum(-lowest, highest) for tensor, (lowest, highest) in ranges.items()}
    factors = {group: _factors([sizes[tensor] for tensor in tensors]) for group, tensors in observed.items() if tensors}
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in convolutions.values():
        out, into = factors.get(groups.of(node.output[0])), factors.get(groups.of(node.input[0]))
        if out is not None:
            _multiply(constants[node.input[1]], 1 / out[:, None, None, None])
            for bias in node.input[2:]:
                _multiply(constants[bias], 1 / out)
        if into is not None:
            _multiply(constants[node.input[1]], into[None, :, None, None])


def separate_channels(
    model: ModelProto,
    quantized: ModelProto,
    names: Collection[str],
    batches: Iterable[Mapping[str, NDArray[Any]]],
) -> None:
    """Give outputs that are added in float32 a scale and a zero point for each channel, in place.

    A convolution has one scale and one zero point for its output, so its integers are made to count each channel's own
    steps: by the scales of its weights, which stay, and by its bias. What makes floats of the integers knows the steps.
    That costs no time.

    Args:
        model: The network in float32, whose nodes have names.
        quantized: The same network, quantised: weights with a scale for each output channel.
        names: The quantised convolutions.
        batches: Inputs of the network, on which the outputs are measured.
    """
    constants = {tensor.name: tensor for tensor in quantized.graph.initializer}
    makers = {output: node for node in quantized.graph.node for output in node.output}
    plain = {node.name: node for node in model.graph.node if node.name in names and len(node.input) == 3}
    biases = {tensor.name: tensor for tensor in model.graph.initializer}
    added = {name: found for name, found in _outputs_added_in_float(quantized).items() if name in plain}
    ranges = _ranges(model, [plain[name].output[0] for name in added], batches)
    for name, (convolution, quantize, dequantize) in added.items():
        lowest, highest = ranges[plain[name].output[0]]
        steps = np.where(highest > lowest, highest - lowest, LEVELS) / LEVELS
        zeros = np.rint(-lowest / steps)
        entering, kernel, bias = (makers[tensor].input for tensor in convolution.input)
        scales = (_array(constants[kernel[1]]) / steps).astype(np.float32)
        sums = (_array(constants[entering[1]]) * scales).astype(np.float32)
        starts = _array(biases[plain[name].input[2]]) / steps + zeros - MIDDLE
        for tensor, values in (
            (kernel[1], scales),
            (bias[0], np.rint(starts / sums).astype(np.int32)),
            (bias[1], sums),
            (quantize.input[1], np.array(1, np.float32)),
            (quantize.input[2], np.array(MIDDLE, np.uint8)),
        ):
            constants[tensor].CopyFrom(numpy_helper.from_array(values, tensor))
        own = (f"{name}_channel_scales", steps.astype(np.float32)), (f"{name}_channel_zeros", zeros.astype(np.uint8))
        quantized.graph.initializer.extend(numpy_helper.from_array(values, tensor) for tensor, values in own)
        dequantize.input[1], dequantize.input[2] = (tensor for tensor, _ in own)
        dequantize.attribute.append(helper.make_attribute("axis", 1))


def _outputs_added_in_float(quantized: ModelProto) -> dict[str, tuple[NodeProto, NodeProto, NodeProto]]:
    """The convolutions whose outputs are added in float32, by name: each, and what quantises and dequantises them.

    A sum that is quantised at once, or after ReLU, is none: runtimes add its terms in int8, with a scale for each.
    """
    users: dict[str, list[NodeProto]] = {}
    for node in quantized.graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)

    def only(node: NodeProto | None, kind: str) -> NodeProto | None:
        following = users.get(node.output[0], []) if node else []
        return following[0] if [each.op_type for each in following] == [kind] else None

    found: dict[str, tuple[NodeProto, NodeProto, NodeProto]] = {}
    for node in quantized.graph.node:
        quantize = only(node, "QuantizeLinear") if node.op_type == "Conv" else None
        dequantize = only(quantize, "DequantizeLinear")
        total = only(dequantize, "Add")
        total = only(total, "Relu") or total
        in_float = total and all(user.op_type != "QuantizeLinear" for user in users.get(total.output[0], []))
        if quantize and dequantize and in_float:
            found[node.name] = node, quantize, dequantize
    return found


class _Groups:
    """Tensors whose channels must be scaled alike."""

    def __init__(self, model: ModelProto) -> None:
        graph = model.graph
        self._parents: dict[str, str] = {}
        self._constants = {tensor.name: len(tensor.dims) for tensor in graph.initializer}
        self._uses = Counter(name for node in graph.node for name in node.input)
        fixed = [node.name for node in (*graph.input, *graph.output)]
        for node in graph.node:
            if node.op_type == "Conv" and self._is_plain(node):
                continue
            tensors = [name for name in (*node.input, *node.output) if name not in self._constants]
            if node.op_type == "Relu" or (node.op_type == "Add" and len(tensors) == 3):
                for tensor in tensors[1:]:
                    self._parents[self.of(tensor)] = self.of(tensors[0])
            else:
                fixed += tensors
        self._fixed = {self.of(name) for name in fixed}

    def of(self, tensor: str) -> str:
        """The tensor that stands for its group."""
        while tensor in self._parents and self._parents[tensor] != tensor:
            tensor = self._parents[tensor]
        return tensor

    def is_free(self, tensor: str) -> bool:
        """True if its channels may be scaled."""
        return self.of(tensor) not in self._fixed

    def _is_plain(self, node: NodeProto) -> bool:
        """True if a convolution is not grouped and has weights of its own."""
        grouped = any(attribute.name == "group" and attribute.i != 1 for attribute in node.attribute)
        own = all(name in self._constants and self._uses[name] == 1 for name in node.input[1:])
        return not grouped and own and self._constants[node.input[1]] == 4


def _ranges(
    model: ModelProto, tensors: list[str], batches: Iterable[Mapping[str, NDArray[Any]]]
) -> dict[str, tuple[Sizes, Sizes]]:
    """The smallest and largest value of each channel, [C], of tensors [N, C, H, W]; 0 is always between them."""
    found: dict[str, tuple[Sizes, Sizes]] = {}
    for values in tensor_values(model, tensors, batches):
        for name, output in values.items():
            lowest, highest = found.get(name, (0, 0))
            smallest, largest = (pick(axis=(0, 2, 3)).astype(np.float64) for pick in (output.min, output.max))
            found[name] = np.minimum(lowest, smallest), np.maximum(highest, largest)
    return found


def _factors(sizes: list[Sizes]) -> Sizes:
    """Divisors of the channels, [C]; their geometric mean is 1."""
    logs = [np.log(np.maximum(size / size.max(), SMALLEST)) for size in sizes if size.max() > 0]
    if not logs:
        return np.ones_like(sizes[0])
    mean = np.mean(logs, axis=0)
    return cast(Sizes, np.exp(STRENGTH * (mean - mean.mean())))


def _array(tensor: TensorProto) -> NDArray[np.float64]:
    return numpy_helper.to_array(tensor).astype(np.float64)


def _multiply(tensor: TensorProto, factor: Sizes) -> None:
    scaled = (_array(tensor) * factor).astype(np.float32)
    tensor.CopyFrom(numpy_helper.from_array(scaled, tensor.name))
