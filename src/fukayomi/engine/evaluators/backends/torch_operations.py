"""The operations of a `Graph` in torch."""

# pyright: reportUnknownMemberType=false

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor

from fukayomi.engine.evaluators.backends.graphs.graph import Operation, dimensions

Compute: TypeAlias = Callable[[int, Sequence[Tensor]], Tensor]
"""An operation: from N and its inputs to its output."""


def function_of(operation: Operation) -> Compute:
    """An operation as a function."""
    return _FUNCTIONS[operation.kind](operation)


def to_float32(n: int, inputs: Sequence[Tensor]) -> Tensor:
    """A cast to float32."""
    return inputs[0].float()


def has_cudnn(x: Tensor) -> bool:
    """True if cuDNN computes the convolutions of an array."""
    return x.is_cuda and torch.version.hip is None


class _Convolution:
    """A convolution with what is added and the activation, which cuDNN computes at once where it can.

    Otherwise each is a pass over the memory of its own.
    """

    def __init__(self, operation: Operation) -> None:
        settings = operation.settings
        self._pads, self._activation = settings["pads"], settings["activation"]
        self._is_even = self._pads[:2] == self._pads[2:]
        padding = self._pads[:2] if self._is_even else (0, 0)
        self._rest = settings["strides"], padding, settings["dilations"], settings["group"]
        self._is_joint = self._activation == "Relu"

    def __call__(self, n: int, inputs: Sequence[Tensor]) -> Tensor:
        x, kernels, bias, *added = inputs
        if not self._is_even:
            top, left, bottom, right = self._pads
            x = F.pad(x, (left, right, top, bottom))
        if self._is_joint and has_cudnn(x):
            try:
                if added:
                    return torch.cudnn_convolution_add_relu(x, kernels, added[0], 1.0, bias, *self._rest)
                return torch.cudnn_convolution_relu(x, kernels, bias, *self._rest)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError:  # it has none for this shape, type or GPU, which shows before a graph is captured
                self._is_joint = False
        result = F.conv2d(x, kernels, bias, *self._rest)
        if added:
            result += added[0]
        if self._activation:
            result = torch.relu_(result) if self._activation == "Relu" else F.silu(result, inplace=True)
        return result


def _affine(operation: Operation) -> Compute:
    sizes = (-1, *(1 for _ in operation.shape[2:]))
    return lambda n, inputs: torch.addcmul(inputs[2].view(sizes), inputs[0], inputs[1].view(sizes))


def _reduce(function: Callable[..., Tensor]) -> Callable[[Operation], Compute]:
    def make(operation: Operation) -> Compute:
        axes, keeps = operation.settings["axes"], operation.settings["keeps"]
        return lambda n, inputs: function(inputs[0], dim=axes, keepdim=keeps)

    return make


def _layer_norm(operation: Operation) -> Compute:
    epsilon = operation.settings["epsilon"]
    return lambda n, inputs: F.layer_norm(inputs[0], inputs[1].shape, inputs[1], inputs[2], epsilon)


def _reshape(operation: Operation) -> Compute:
    return lambda n, inputs: inputs[0].reshape(dimensions(operation.shape, n))


def _slice(operation: Operation) -> Compute:
    parts = tuple(slice(None) if each is None else slice(*each) for each in operation.settings["ranges"])
    return lambda n, inputs: inputs[0][parts]


def _concat(operation: Operation) -> Compute:
    axis = operation.settings["axis"]
    return lambda n, inputs: torch.cat(list(inputs), axis)


def _pad(operation: Operation) -> Compute:
    before, after = operation.settings["before"], operation.settings["after"]
    pads = [size for pair in zip(reversed(before), reversed(after), strict=True) for size in pair]
    value = operation.settings["value"]
    return lambda n, inputs: F.pad(inputs[0], pads, value=value)


def _clip(operation: Operation) -> Compute:
    least, most = operation.settings["least"], operation.settings["most"]
    return lambda n, inputs: torch.clamp(inputs[0], least, most)


def _gelu(operation: Operation) -> Compute:
    kind = "tanh" if operation.settings["is_tanh"] else "none"
    return lambda n, inputs: F.gelu(inputs[0], approximate=kind)


def _plain(function: Callable[..., Tensor], *names: str) -> Callable[[Operation], Compute]:
    """A function of the inputs, and of these settings."""

    def make(operation: Operation) -> Compute:
        settings: list[Any] = [operation.settings[name] for name in names]
        return lambda n, inputs: function(*inputs, *settings)

    return make


_FUNCTIONS: dict[str, Callable[[Operation], Compute]] = {
    "Conv": _Convolution,
    "Affine": _affine,
    "Dense": _plain(F.linear),
    "MatMul": _plain(torch.matmul),
    "Add": _plain(torch.add),
    "Sub": _plain(torch.sub),
    "Mul": _plain(torch.mul),
    "Div": _plain(torch.div),
    "Pow": _plain(torch.pow),
    "Mean": _reduce(torch.mean),
    "Sum": _reduce(torch.sum),
    "Max": _reduce(torch.amax),
    "Softmax": _plain(torch.softmax, "axis"),
    "LayerNorm": _layer_norm,
    "Reshape": _reshape,
    "Transpose": _plain(torch.permute, "order"),
    "Slice": _slice,
    "Concat": _concat,
    "Pad": _pad,
    "Relu": _plain(torch.relu),
    "LeakyRelu": _plain(F.leaky_relu, "alpha"),
    "Sigmoid": _plain(torch.sigmoid),
    "Tanh": _plain(torch.tanh),
    "Silu": _plain(F.silu),
    "Mish": _plain(F.mish),
    "Gelu": _gelu,
    "HardSwish": _plain(F.hardswish),
    "Softplus": _plain(F.softplus),
    "Clip": _clip,
    "Erf": _plain(torch.erf),
    "Exp": _plain(torch.exp),
    "Sqrt": _plain(torch.sqrt),
    "Neg": _plain(torch.neg),
    "Abs": _plain(torch.abs),
    "Reciprocal": _plain(torch.reciprocal),
}
