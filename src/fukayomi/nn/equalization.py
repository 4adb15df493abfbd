"""Channels of about the same size: scales between convolutions that change no answer and make int8 more exact.

A tensor in uint8 has one scale for all of its channels, so a channel with small values keeps few of the 256 levels.
Between two convolutions a channel may be divided by a number and its weights in the next convolution multiplied by the
same number, since ReLU and additions pass a positive factor on (Nagel et al. 2019, arXiv:1906.04721, section 4.1; here
by the sizes of the activations instead of the weights). In a residual tower all blocks share the channels of the
residual stream, and so its factors.
"""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from fukayomi.nn.observing import tensor_values

STRENGTH = 0.75
"""Power of the sizes that is divided out: 1 makes all channels alike, and the weights the most uneven."""
SMALLEST = 0.03
"""A channel smaller than this share of the largest one counts as so large: other positions may excite it more."""

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
    sizes = _sizes(model, [tensor for tensors in observed.values() for tensor in tensors], batches)
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
        """Whether its channels may be scaled."""
        return self.of(tensor) not in self._fixed

    def _is_plain(self, node: NodeProto) -> bool:
        """Whether a convolution is not grouped and has weights of its own."""
        grouped = any(attribute.name == "group" and attribute.i != 1 for attribute in node.attribute)
        own = all(name in self._constants and self._uses[name] == 1 for name in node.input[1:])
        return not grouped and own and self._constants[node.input[1]] == 4


def _sizes(model: ModelProto, tensors: list[str], batches: Iterable[Mapping[str, NDArray[Any]]]) -> dict[str, Sizes]:
    """The largest absolute value of each channel, [C], of tensors [N, C, H, W]."""
    found: dict[str, Sizes] = {}
    for values in tensor_values(model, tensors, batches):
        for name, output in values.items():
            sizes = cast(Sizes, np.abs(output).max(axis=(0, 2, 3)).astype(np.float64))
            found[name] = np.maximum(found[name], sizes) if name in found else sizes
    return found


def _factors(sizes: list[Sizes]) -> Sizes:
    """What to divide each channel by, [C]; the geometric mean of the factors is 1."""
    logs = [np.log(np.maximum(size / size.max(), SMALLEST)) for size in sizes if size.max() > 0]
    if not logs:
        return np.ones_like(sizes[0])
    mean = np.mean(logs, axis=0)
    return cast(Sizes, np.exp(STRENGTH * (mean - mean.mean())))


def _multiply(tensor: TensorProto, factor: Sizes) -> None:
    scaled = (numpy_helper.to_array(tensor).astype(np.float64) * factor).astype(np.float32)
    tensor.CopyFrom(numpy_helper.from_array(scaled, tensor.name))
