"""Networks of residual blocks from their own ONNX files, so that training can go on from them.

`export_onnx` folds each BatchNorm into the convolution before it, and its statistics are lost. Here the BatchNorm only
adds the bias, and `normalise` gives it statistics from real positions: in training mode, where it normalises by the
batch, the network then computes nearly what the file does.
"""

# pyright: reportUnknownMemberType=false

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from google.protobuf.message import DecodeError
from onnx import numpy_helper
from torch import Tensor, nn

from fukayomi.files.inputs import problem_of
from fukayomi.nn.blocks import ResidualBlock
from fukayomi.nn.config import FEATURES1, NetworkConfig, NetworkConfigError
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import ParameterFileError

HALF = ".half"
"""Ending of the names of weights that are stored as float16."""
QUANTIZED = ("QuantizeLinear", "DequantizeLinear", "QLinearConv")
"""Operators of networks in int8."""


def load_onnx(path: Path | str) -> PolicyValueNetwork:
    """The network of an ONNX file that `export_onnx` wrote, on the CPU, in evaluation mode.

    The weights are those of the file, rounded to float16 if it stores them so. Before it is trained, call `normalise`.

    Raises:
        ParameterFileError: The file is missing, damaged, of another program, in int8, or has other blocks than
            residual ones.
    """
    path = Path(path)
    if (problem := problem_of(path)) is not None:
        raise ParameterFileError(f"{path}: {problem}")
    try:
        model = onnx.load(path)
    except (DecodeError, OSError, ValueError) as error:
        raise ParameterFileError(f"{path}: not an ONNX file, or damaged ({error})") from error
    if any(node.op_type in QUANTIZED for node in model.graph.node):
        raise ParameterFileError(
            f"{path}: this is an int8 file, which has rounded weights and can only be played with and evaluated: use "
            "the float32 file that it was made from"
        )
    config = _config(model, path)
    network = PolicyValueNetwork(config).eval()
    if config.stem != "sum" or config.squeeze or not all(isinstance(block, ResidualBlock) for block in network.blocks):
        raise ParameterFileError(
            f"{path}: only plain residual networks can be trained from an ONNX file, not {config}; use its checkpoint"
        )
    found = {_name(tensor.name): tensor for tensor in model.graph.initializer}

    def take(name: str, shape: torch.Size) -> Tensor:
        if name not in found and name.endswith(".bias"):
            return torch.zeros(shape)  # the exporter leaves them out
        if name not in found:
            raise ParameterFileError(f"{path}: no tensor {name}: not a file of fukayomi export")
        array = numpy_helper.to_array(found[name]).astype(np.float32)
        if array.shape != tuple(shape) or not np.isfinite(array).all():
            raise ParameterFileError(f"{path}: the tensor {name} is {array.shape}, not {tuple(shape)}, or not finite")
        return torch.from_numpy(array)

    with torch.no_grad():
        _fill(network, take)
    return network


def _name(stored: str) -> str:
    """Name of a tensor in the network; the heads of the first files were called policy_conv and so on."""
    head = next((name for name in ("policy", "value") if stored.startswith(f"{name}_")), None)
    return (stored if head is None else stored.replace("_", ".", 1)).removesuffix(HALF)


def _config(model: onnx.ModelProto, path: Path) -> NetworkConfig:
    """The shape that `export_onnx` notes in the file."""
    noted: dict[str, Any] = {}
    for item in model.metadata_props:
        try:
            noted[item.key] = json.loads(item.value.lower() if item.value in ("True", "False") else item.value)
        except ValueError:
            noted[item.key] = item.value
    noted.pop("heads", None)  # exported networks have none
    if "blocks" not in noted or "channels" not in noted:
        raise ParameterFileError(f"{path}: it does not say what network it is, as files of fukayomi export do")
    try:
        return NetworkConfig.from_dict(noted)
    except NetworkConfigError as error:
        raise ParameterFileError(f"{path}: {error}") from error


def _fill(network: PolicyValueNetwork, take: Callable[[str, torch.Size], Tensor]) -> None:
    """Put a file's tensors into a new network; each BatchNorm only adds the bias of its convolution."""

    def norm(name: str, layer: nn.BatchNorm2d) -> None:
        layer.bias.copy_(take(name, layer.bias.shape))
        layer.weight.fill_((1 + layer.eps) ** 0.5)  # mean 0 and variance 1 are what a new one starts with

    def padded(name: str, conv: nn.Conv2d) -> None:
        shape = list(conv.weight.shape)
        shape[1] += -shape[1] % 16
        conv.weight.copy_(take(name, torch.Size(shape))[:, : conv.weight.shape[1]])

    stem = network.stem
    padded("input1.weight", stem.conv1_3x3)
    stem.conv1_1x1.weight.zero_()  # the kernel's centre has it
    padded("input2.weight", stem.conv2_1x1)
    assert isinstance(stem.norm, nn.BatchNorm2d)
    norm("input1.bias", stem.norm)
    for n, block in enumerate(network.blocks):
        assert isinstance(block, ResidualBlock)
        for conv, layer, name in ((block.conv1, block.norm1, "conv1"), (block.conv2, block.norm2, "conv2")):
            conv.weight.copy_(take(f"blocks.{n}.{name}.weight", conv.weight.shape))
            norm(f"blocks.{n}.{name}.bias", layer)
    policy, value = network.policy, network.value
    policy.conv.weight.copy_(take("policy.conv.weight", policy.conv.weight.shape))
    policy.bias.copy_(take("policy.bias", policy.bias.shape))
    value.conv.weight.copy_(take("value.conv.weight", value.conv.weight.shape))
    norm("value.conv.bias", value.norm)
    for layer, name in ((value.fc1, "value.fc1"), (value.fc2, "value.fc2")):
        layer.weight.copy_(take(f"{name}.weight", layer.weight.shape))
        layer.bias.copy_(take(f"{name}.bias", layer.bias.shape))


def normalise(network: PolicyValueNetwork, features1: Tensor, features2: Tensor) -> None:
    """Give each BatchNorm the statistics of its input on these positions; what the network computes stays the same.

    Args:
        network: A network in evaluation mode.
        features1: Planes [N, 62, 9, 9], float; some hundred positions of games.
        features2: Planes [N, 57, 9, 9], float.
    """
    assert features1.shape[1] == FEATURES1
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    seen: dict[nn.BatchNorm2d, tuple[Tensor, Tensor]] = {}

    def look(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(module, nn.BatchNorm2d)
        variance, mean = torch.var_mean(inputs[0].double(), (0, 2, 3), correction=0)
        seen[module] = mean, variance

    hooks = [module.register_forward_pre_hook(look) for module in norms]
    try:
        with torch.inference_mode():
            network(features1, features2)
    finally:
        for hook in hooks:
            hook.remove()
    with torch.no_grad():
        for module, (mean, variance) in seen.items():
            _change_statistics(module, mean, variance)


def _change_statistics(norm: nn.BatchNorm2d, mean: Tensor, variance: Tensor) -> None:
    """Another mean and variance for a BatchNorm, and the scale and shift with which it computes the same."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
    norm.bias.copy_(norm.bias.double() + (mean - norm.running_mean.double()) * scale)
    norm.weight.copy_(scale * torch.sqrt(variance + norm.eps))
    norm.running_mean.copy_(mean)
    norm.running_var.copy_(variance)
