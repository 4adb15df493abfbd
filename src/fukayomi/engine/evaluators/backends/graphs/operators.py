"""ONNX's operators as operations of a `Graph`: a function for each, which looks at one node."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fukayomi.engine.evaluators.backends.graphs.builder import Array, Node, Value, shape_text
from fukayomi.engine.evaluators.backends.graphs.constants import (
    FLOAT_TYPES,
    Range,
    axes_of,
    slice_ranges,
    squeezed,
    unsqueezed,
)
from fukayomi.engine.evaluators.backends.graphs.graph import BATCH, GraphError, Shape


def _conv(node: Node) -> None:
    x, kernels = node.value(), node.array(1)
    strides, dilations = (list(node.attribute(name, [1, 1])) for name in ("strides", "dilations"))
    group = node.attribute("group", 1)
    if len(x.shape) != 4 or kernels.ndim != 4 or len(strides) != 2 or len(dilations) != 2:
        raise GraphError("only convolutions of two dimensions are known here")
    if min(*strides, *dilations, group) < 1 or x.shape[1] != kernels.shape[1] * group or len(kernels) % group:
        raise GraphError(f"kernels {shape_text(kernels.shape)} do not fit {shape_text(x.shape)}")
    spans = [dilation * (size - 1) + 1 for size, dilation in zip(kernels.shape[2:], dilations, strict=True)]
    pads = _pads(node, x.shape[2:], spans, strides)
    sides = [
        (size + before + after - span) // stride + 1
        for size, before, after, span, stride in zip(x.shape[2:], pads[:2], pads[2:], spans, strides, strict=True)
    ]
    bias = node.array(2).reshape(-1) if node.has(2) else np.zeros(len(kernels))
    inputs = [x.name, node.keep("kernels", kernels), node.keep("bias", _sized(bias, len(kernels)))]
    settings: dict[str, Any] = {
        "pads": tuple(pads),
        "strides": tuple(strides),
        "dilations": tuple(dilations),
        "group": group,
    }
    node.emit("Conv", inputs, [x.shape[0], len(kernels), *sides], **settings)


def _pads(node: Node, sides: Sequence[int], spans: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Zeros around the input of a convolution: top, left, bottom, right."""
    kind = node.attribute("auto_pad", b"NOTSET").decode()
    if kind in ("SAME_UPPER", "SAME_LOWER"):
        total = [
            max(0, (-(-size // stride) - 1) * stride + span - size)
            for size, span, stride in zip(sides, spans, strides, strict=True)
        ]
        smaller, larger = [each // 2 for each in total], [each - each // 2 for each in total]
        return [*smaller, *larger] if kind == "SAME_UPPER" else [*larger, *smaller]
    pads = [0] * 4 if kind == "VALID" else list(node.attribute("pads", [0] * 4))
    if len(pads) != 4 or min(pads) < 0:
        raise GraphError(f"pads of {pads}")
    return pads


def _sized(array: Array, count: int) -> Array:
    """A constant that must have so many numbers."""
    if array.size != count:
        raise GraphError(f"{array.size} numbers where there must be {count}")
    return array.reshape(-1)


def _batch_norm(node: Node) -> None:
    x = node.value()
    if node.attribute("training_mode", 0) or node.attribute("spatial", 1) != 1 or len(x.shape) < 2:
        raise GraphError("it is still in training")
    scale, shift, mean, variance = (_sized(node.array(number), x.shape[1]).astype(np.float64) for number in range(1, 5))
    factor = scale / np.sqrt(variance + node.attribute("epsilon", 1e-5))
    inputs = [x.name, node.keep("factor", factor), node.keep("shift", shift - mean * factor)]
    node.emit("Affine", inputs, x.shape)


def _gemm(node: Node) -> None:
    x, weights = node.value(), node.array(1) * np.float32(node.attribute("alpha", 1.0))
    weights = weights if node.attribute("transB", 0) else weights.T
    if len(x.shape) != 2 or weights.ndim != 2 or node.attribute("transA", 0) or x.shape[1] != weights.shape[1]:
        raise GraphError(f"weights {shape_text(weights.shape)} do not fit {shape_text(x.shape)}")
    bias = np.zeros(1) if not node.has(2) else node.array(2) * np.float32(node.attribute("beta", 1.0))
    bias = np.broadcast_to(bias.reshape(-1), len(weights))
    inputs = [x.name, node.keep("weights", weights), node.keep("bias", bias)]
    node.emit("Dense", inputs, [x.shape[0], len(weights)])


def _matmul(node: Node) -> None:
    a, b = node.either(0), node.either(1)
    if min(len(a.shape), len(b.shape)) < 2 or a.shape[-1] != b.shape[-2]:
        raise GraphError(f"{shape_text(a.shape)} and {shape_text(b.shape)} do not fit")
    if b.name in node.builder.constants and len(b.shape) == 2:
        weights = node.array(1).T
        inputs = [a.name, node.keep("weights", weights), node.keep("bias", np.zeros(len(weights)))]
        node.emit("Dense", inputs, [*a.shape[:-1], len(weights)])
        return
    shape = _broadcast(a.shape[:-2], b.shape[:-2])
    node.emit("MatMul", [a.name, b.name], [*shape, a.shape[-2], b.shape[-1]])


def _broadcast(a: Shape, b: Shape) -> Shape:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError as error:
        raise GraphError(f"{shape_text(a)} and {shape_text(b)} do not fit") from error


def _binary(node: Node) -> None:
    a, b = node.either(0), node.either(1)
    node.emit(node.operator, [a.name, b.name], _broadcast(a.shape, b.shape))


def _activation(node: Node) -> None:
    x = node.value()
    node.emit(node.operator, [x.name], x.shape)


def _swish(node: Node) -> None:
    if node.attribute("alpha", 1.0) != 1.0:
        raise GraphError("an alpha other than 1")
    node.emit("Silu", [node.value().name], node.value().shape)


def _leaky_relu(node: Node) -> None:
    node.emit("LeakyRelu", [node.value().name], node.value().shape, alpha=node.attribute("alpha", 0.01))


def _gelu(node: Node) -> None:
    is_tanh = node.attribute("approximate", b"none") == b"tanh"
    node.emit("Gelu", [node.value().name], node.value().shape, is_tanh=is_tanh)


def _clip(node: Node) -> None:
    x = node.value()
    least, most = (
        float(node.array(number).item()) if node.has(number) else node.attribute(name, default)
        for number, (name, default) in enumerate((("min", -math.inf), ("max", math.inf)), 1)
    )
    node.emit("Clip", [x.name], x.shape, least=least, most=most)


def _reduce(node: Node) -> None:
    x = node.value()
    axes = axes_of(node.arrays(), node.attributes)
    if not axes and node.attribute("noop_with_empty_axes", 0):
        node.pass_on(x)
        return
    chosen = {axis % len(x.shape) for axis in axes or range(len(x.shape))}
    keeps = bool(node.attribute("keepdims", 1))
    shape = [1 if axis in chosen else size for axis, size in enumerate(x.shape) if keeps or axis not in chosen]
    node.emit(node.operator.removeprefix("Reduce"), [x.name], shape, axes=tuple(sorted(chosen)), keeps=keeps)


def _global_pool(node: Node) -> None:
    x = node.value()
    kind = "Max" if node.operator == "GlobalMaxPool" else "Mean"
    shape = [*x.shape[:2], *(1 for _ in x.shape[2:])]
    node.emit(kind, [x.name], shape, axes=tuple(range(2, len(x.shape))), keeps=True)


def _softmax(node: Node) -> None:
    x = node.value()
    axis = node.attribute("axis", -1 if node.builder.version >= 13 else 1) % len(x.shape)
    if node.builder.version < 13 and axis != len(x.shape) - 1:
        raise GraphError("it is of all axes from one on")
    node.emit("Softmax", [x.name], x.shape, axis=axis)


def _layer_norm(node: Node) -> None:
    x = node.value()
    axis = node.attribute("axis", -1) % len(x.shape)
    rest = x.shape[axis:]
    scale = np.broadcast_to(node.array(1), rest)
    bias = np.broadcast_to(node.array(2), rest) if node.has(2) else np.zeros(rest)
    inputs = [x.name, node.keep("scale", scale), node.keep("bias", bias)]
    node.emit("LayerNorm", inputs, x.shape, axis=axis, epsilon=node.attribute("epsilon", 1e-5))


def _reshape(node: Node) -> None:
    x = node.value()
    sizes = [int(size) for size in node.array(1).reshape(-1)]
    if not node.attribute("allowzero", 0):
        sizes = [size or x.shape[axis] for axis, size in enumerate(sizes)]
    if -1 in sizes:
        sizes[sizes.index(-1)] = math.prod(x.shape) // max(1, math.prod(size for size in sizes if size != -1))
    node.reshape(x, sizes)


def _flatten(node: Node) -> None:
    x = node.value()
    axis = node.attribute("axis", 1)
    axis += len(x.shape) if axis < 0 else 0
    node.reshape(x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])


def _squeeze(node: Node) -> None:
    x = node.value()
    node.reshape(x, squeezed(x.shape, axes_of(node.arrays(), node.attributes)))


def _unsqueeze(node: Node) -> None:
    x = node.value()
    node.reshape(x, unsqueezed(x.shape, axes_of(node.arrays(), node.attributes) or []))


def _transpose(node: Node) -> None:
    x = node.value()
    order: tuple[int, ...] = tuple(node.attribute("perm", range(len(x.shape) - 1, -1, -1)))
    if sorted(order) != list(range(len(x.shape))):
        raise GraphError(f"{list(order)} is no order of {len(x.shape)} axes")
    node.emit("Transpose", [x.name], [x.shape[axis] for axis in order], order=order)


def _take(node: Node, x: Value, ranges: Sequence[Range], output: str) -> Value:
    """Add a Slice, unless it takes everything; returns what it takes."""
    shape = tuple(len(range(*each)) for each in ranges)
    if shape == x.shape:
        node.builder.let(output, x)
        return x
    if any(size != taken and size % BATCH == 0 for size, taken in zip(x.shape, shape, strict=True)):
        raise GraphError("it takes a part of the batch")
    parts = (None if taken == size else part for part, taken, size in zip(ranges, shape, x.shape, strict=True))
    node.emit("Slice", [x.name], shape, output, ranges=tuple(parts))
    return Value(output, shape)


def _slice(node: Node) -> None:
    x = node.value()
    _take(node, x, slice_ranges(x.shape, node.arrays(), node.attributes), node.outputs[0])


def _split(node: Node) -> None:
    x = node.value()
    axis: int = node.attribute("axis", 0) % len(x.shape)
    count: int = node.attribute("num_outputs", len(node.outputs))
    share = -(-x.shape[axis] // count)
    sizes = node.attribute("split", [min(share, x.shape[axis] - share * number) for number in range(count)])
    sizes = node.array(1).reshape(-1).tolist() if node.has(1) else list(sizes)
    if sum(sizes) != x.shape[axis] or min(sizes) < 1:
        raise GraphError(f"parts of {sizes} do not fit {shape_text(x.shape)}")
    start = 0
    for output, size in zip(node.outputs, sizes, strict=True):
        ranges = [(0, length, 1) for length in x.shape]
        ranges[axis] = (start, start + size, 1)
        _take(node, x, ranges, output)
        start += size


def _gather(node: Node) -> None:
    x, index = node.value(), node.array(1)
    if index.ndim != 0:
        raise GraphError("only one index is known here")
    axis: int = node.attribute("axis", 0) % len(x.shape)
    place = range(x.shape[axis])[int(index)]
    ranges = [(0, size, 1) for size in x.shape]
    ranges[axis] = (place, place + 1, 1)
    part = _take(node, x, ranges, f"{node.outputs[0]}/part")
    node.reshape(part, squeezed(part.shape, [axis]))


def _concat(node: Node) -> None:
    if len(node.inputs) == 1:
        return node.pass_on(node.value())
    parts = [node.either(number) for number in range(len(node.inputs))]
    axis: int = node.attribute("axis", 0) % len(parts[0].shape)
    others = {(*part.shape[:axis], *part.shape[axis + 1 :]) for part in parts}
    if len(others) > 1:
        raise GraphError(f"{' and '.join(shape_text(part.shape) for part in parts)} do not fit")
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    node.emit("Concat", [part.name for part in parts], shape, axis=axis)
    return None


def _pad(node: Node) -> None:
    x, rank = node.value(), len(node.value().shape)
    pads = node.array(1).reshape(-1).tolist() if node.has(1) else list(node.attribute("pads", []))
    axes = [axis % rank for axis in (node.array(3).reshape(-1).tolist() if node.has(3) else range(rank))]
    value = float(node.array(2).item()) if node.has(2) else float(node.attribute("value", 0.0))
    if node.attribute("mode", b"constant") != b"constant" or min(pads, default=0) < 0:
        raise GraphError("it adds something else than a constant")
    if len(pads) != 2 * len(axes) or len(set(axes)) < len(axes):
        raise GraphError(f"pads of {pads}")
    before, after = [0] * rank, [0] * rank
    for number, axis in enumerate(axes):
        before[axis], after[axis] = pads[number], pads[number + len(axes)]
    shape = [size + first + last for size, first, last in zip(x.shape, before, after, strict=True)]
    node.emit("Pad", [x.name], shape, before=tuple(before), after=tuple(after), value=value)


def _same(node: Node) -> None:
    if node.operator == "Cast" and node.attribute("to", 0) not in FLOAT_TYPES:
        raise GraphError("it makes integers")
    node.pass_on(node.value())


OPERATORS: dict[str, Callable[[Node], None]] = {
    "Conv": _conv,
    "BatchNormalization": _batch_norm,
    "Gemm": _gemm,
    "MatMul": _matmul,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow"), _binary),
    **dict.fromkeys(("Relu", "Sigmoid", "Tanh", "Mish", "HardSwish", "Softplus"), _activation),
    **dict.fromkeys(("Erf", "Exp", "Sqrt", "Neg", "Abs", "Reciprocal"), _activation),
    "Swish": _swish,
    "LeakyRelu": _leaky_relu,
    "Gelu": _gelu,
    "Clip": _clip,
    **dict.fromkeys(("ReduceMean", "ReduceSum", "ReduceMax"), _reduce),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), _global_pool),
    "Softmax": _softmax,
    "LayerNormalization": _layer_norm,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Slice": _slice,
    "Split": _split,
    "Gather": _gather,
    "Concat": _concat,
    "Pad": _pad,
    **dict.fromkeys(("Identity", "Cast", "Dropout"), _same),
}
