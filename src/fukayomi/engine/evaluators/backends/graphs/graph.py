"""Networks as short lists of operations on arrays, for backends with kernels of their own.

`reader.read_graph` makes one of an ONNX file. Every shape is known, settings are numbers, constants are float32. A
backend needs these operations and no others. x, a and b are arrays; [C] and the like are constants.

    kind            inputs                                  settings
    Conv            x, kernels [K, C / group, h, w], [K],   pads (top, left, bottom, right), strides, dilations, group;
                    a where there is one: added after it    activation: "Relu" or "Silu", which comes last, or ""
    Affine          x, factors [C], shifts [C]              -          x * factor + shift, of the channels (axis 1)
    Dense           x, weights [K, C], [K]                  -          of the last axis
    MatMul          a, b                                    -          as numpy.matmul
    Add Sub Mul Div Pow    a, b                             -          with broadcasting
    Mean Sum Max    x                                       axes, keeps
    Softmax         x                                       axis
    LayerNorm       x, scale, bias                          axis (the first of those that are normalised), epsilon
    Reshape         x                                       -          to the operation's shape
    Transpose       x                                       order
    Slice           x                                       ranges: (start, stop, step) for each axis; None: all
    Concat          x, ...                                  axis
    Pad             x                                       before, after: one number for each axis; value
    ACTIVATIONS     x                                       Clip: least, most; LeakyRelu: alpha; Gelu: is_tanh

The bias of Conv and Dense is always there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi.engine.evaluators.float_model import Port
from fukayomi.errors import InvalidValueError

Floats = NDArray[np.float32]
Shape = tuple[int, ...]

BATCH = (1 << 31) - 1
"""Stands for N in shapes: a prime that is larger than any other dimension, so that only multiples of N are multiples
of it."""
ACTIVATIONS = (
    "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Silu", "Mish", "Gelu", "HardSwish", "Softplus", "Clip", "Erf", "Exp",
    "Sqrt", "Neg", "Abs", "Reciprocal",
)  # fmt: skip
"""Operations on single numbers."""


class GraphError(InvalidValueError):
    """The file is damaged, or has a node that is not one of these operations; the message names the node."""


@dataclass(frozen=True)
class Operation:
    """One step of a network."""

    kind: str
    inputs: tuple[str, ...]
    """Names of arrays, each made before, or of constants."""
    output: str
    shape: Shape
    """Of the output, with `BATCH` for N."""
    place: str
    """The node in the file, for messages."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Graph:
    """A network."""

    inputs: Mapping[str, Shape]
    """Shapes of `input1` and `input2`."""
    policy: str
    """The array with the policy, 2187 numbers for each position."""
    value: str
    """The array with the value, one number for each position."""
    operations: Sequence[Operation]
    """In the order in which they can be computed."""
    constants: Mapping[str, Floats]
    trunk: frozenset[str]
    """Outputs of the operations that both policy and value need. The others are the heads."""
    ports: tuple[Sequence[Port], Sequence[Port]]
    """Inputs and outputs as the file declares them."""
    batch: int = 0
    """The only N that the file takes; 0: any."""


def dimensions(shape: Shape, n: int) -> list[int]:
    """A shape for N = n."""
    return [n * (size // BATCH) if size % BATCH == 0 else size for size in shape]
