"""Weights in int8, rounded so that a convolution's sums stay what they are rather than each weight.

The error that rounding a weight adds to a sum can be taken out again by those weights of the same output channel that
are not rounded yet, since the squares beside each other, and the channels, are not independent (GPTQ: Frantar et al.
2022, arXiv:2210.17323, from the optimal brain surgeon of Hassibi and Stork 1993). How far one input stands in for
another is in the products of all pairs of inputs, added up over real positions.
"""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper

from fukayomi.errors import InvalidValueError
from fukayomi.nn.observing import tensor_values

AT_ONCE = 8
"""Convolutions whose inputs are kept in memory at once."""
COLUMNS = 64
"""Weights of a channel that are rounded before the rest hears of it."""
DAMPING = 0.01
"""Added to the diagonal of the products, as a share of its mean: other positions than the measured ones come too."""
LARGEST = 127

Matrix = NDArray[np.float64]


def round_weights(
    model: ModelProto, quantized: ModelProto, names: Sequence[str], batches: Sequence[Mapping[str, NDArray[Any]]]
) -> None:
    """Round the weights of convolutions anew, in place; their scales stay.

    Convolutions with groups, strides or dilations are left as they are.

    Args:
        model: The network in float32, whose nodes have names.
        quantized: The same network with quantised weights: int8, a scale for each output channel, no zero point.
        names: The quantised convolutions.
        batches: Inputs of the network, on which the products are measured.

    Raises:
        ValueError: The network's activations are not finite.
    """
    floats = {tensor.name: tensor for tensor in model.graph.initializer}
    integers = {tensor.name: tensor for tensor in quantized.graph.initializer}
    convolutions = {node.name: node for node in model.graph.node if node.name in set(names) and _is_plain(node)}
    kernels = _kernels(quantized)
    order = list(convolutions.values())
    for group in (order[start : start + AT_ONCE] for start in range(0, len(order), AT_ONCE)):
        products: dict[str, Matrix] = {}
        for values in tensor_values(model, sorted({node.input[0] for node in group}), batches):
            for node in group:
                rows = _patches(values[node.input[0]], floats[node.input[1]].dims[2:], _attributes(node))
                products[node.name] = products.get(node.name, 0) + (rows.T @ rows).astype(np.float64)
        for node in group:
            kernel, scale = (integers[name] for name in kernels[node.name])
            weights = numpy_helper.to_array(floats[node.input[1]]).astype(np.float64)
            scales = numpy_helper.to_array(scale).astype(np.float64)
            rounded = rounded_together(weights.reshape(len(weights), -1), scales, products[node.name])
            kernel.CopyFrom(numpy_helper.from_array(rounded.reshape(weights.shape), kernel.name))


def rounded_together(weights: Matrix, scales: Matrix, products: Matrix) -> NDArray[np.int8]:
    """Integers q, for which `scales * q` has nearly the sums that the weights have.

    Args:
        weights: [output channels, inputs].
        scales: Size of a step of each output channel, [output channels].
        products: Sums of x[i] * x[j] over real inputs x, [inputs, inputs].

    Raises:
        ValueError: A product is not finite.
    """
    if not np.isfinite(products).all():
        raise InvalidValueError("its activations are not finite")
    steps = np.where(scales > 0, scales, 1)[:, None]
    damping = DAMPING * float(np.mean(np.diag(products)))
    if damping <= 0:  # no input is ever set
        return _integers(weights, steps)
    inverse = np.linalg.inv(products + damping * np.eye(len(products)))
    factor = np.linalg.cholesky((inverse + inverse.T) / 2).T
    rest = weights.copy()
    found = np.zeros(weights.shape, np.int8)
    for start in range(0, rest.shape[1], COLUMNS):
        block = slice(start, min(start + COLUMNS, rest.shape[1]))
        errors = np.zeros((len(rest), block.stop - start))
        for column in range(start, block.stop):
            found[:, column] = _integers(rest[:, column : column + 1], steps)[:, 0]
            error = (rest[:, column] - found[:, column] * steps[:, 0]) / factor[column, column]
            rest[:, column : block.stop] -= error[:, None] * factor[column, column : block.stop]
            errors[:, column - start] = error
        rest[:, block.stop :] -= errors @ factor[block, block.stop :]
    return found


def _integers(weights: Matrix, steps: Matrix) -> NDArray[np.int8]:
    return np.clip(np.rint(weights / steps), -LARGEST, LARGEST).astype(np.int8)


def _patches(values: NDArray[np.float32], kernel: Sequence[int], attributes: Mapping[str, Any]) -> NDArray[np.float32]:
    """Patch of a kernel at each square, [N * squares, channels * height * width], of planes [N, channels, 9, 9]."""
    top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
    padded = np.pad(values, ((0, 0), (0, 0), (top, bottom), (left, right)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (kernel[0], kernel[1]), axis=(2, 3))
    return seen.transpose(0, 2, 3, 1, 4, 5).reshape(-1, values.shape[1] * kernel[0] * kernel[1])


def _kernels(quantized: ModelProto) -> dict[str, tuple[str, str]]:
    """The names of a convolution's integers and of their scales, by its own name."""
    sources = {node.output[0]: node for node in quantized.graph.node if node.op_type == "DequantizeLinear"}
    return {
        node.name: (sources[node.input[1]].input[0], sources[node.input[1]].input[1])
        for node in quantized.graph.node
        if node.op_type == "Conv" and node.input[1] in sources
    }


def _is_plain(node: NodeProto) -> bool:
    """True if it is a convolution over all channels that moves by one square."""
    attributes = _attributes(node)
    ones = [attributes.get("group", 1), *attributes.get("strides", []), *attributes.get("dilations", [])]
    padded = attributes.get("auto_pad", b"NOTSET") == b"NOTSET"
    return node.op_type == "Conv" and padded and all(value == 1 for value in ones)


def _attributes(node: NodeProto) -> dict[str, Any]:
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
