"""Policy and value networks: shape, parameters, export to ONNX. Needs the extra train.

    >>> import torch
    >>> from fukayomi.nn import NetworkConfig, PolicyValueNetwork, load_parameters, save_parameters
    >>> network = PolicyValueNetwork(NetworkConfig(blocks=2, channels=16, activation="relu", value_hidden=8))
    >>> policy, value = network(torch.zeros(1, 62, 9, 9), torch.zeros(1, 57, 9, 9))  # logits
    >>> policy.shape, value.shape
    (torch.Size([1, 2187]), torch.Size([1, 1]))

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/network.safetensors"
    >>> save_parameters(network, file)
    >>> load_parameters(file).config.blocks
    2

``NetworkConfig.from_name("resnet20x256_swish")`` is a network by the name that users of dlshogi know. `load_dlshogi`
and `save_dlshogi` read and write dlshogi's own files. ``export_onnx(network, "network.onnx")`` writes a file for any
engine that plays dlshogi's networks, and `load_onnx` reads it again; `grow_network` makes a larger network that begins
as a smaller one; `fukayomi.learning` trains networks and reads checkpoints.
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.nn.config import NetworkConfig, NetworkConfigError
    from fukayomi.nn.dlshogi import load_dlshogi, save_dlshogi
    from fukayomi.nn.export import export_onnx
    from fukayomi.nn.growth import grow_network
    from fukayomi.nn.network import PolicyValueNetwork
    from fukayomi.nn.parameters import ExportError, ParameterFileError, load_parameters, save_parameters
    from fukayomi.nn.quantization import QuantizationError, quantize_onnx
    from fukayomi.nn.unfolding import load_onnx

__all__ = [
    "ExportError",
    "NetworkConfig",
    "NetworkConfigError",
    "ParameterFileError",
    "PolicyValueNetwork",
    "QuantizationError",
    "export_onnx",
    "grow_network",
    "load_dlshogi",
    "load_onnx",
    "load_parameters",
    "quantize_onnx",
    "save_dlshogi",
    "save_parameters",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".config": ("NetworkConfig", "NetworkConfigError"),
        ".dlshogi": ("load_dlshogi", "save_dlshogi"),
        ".export": ("export_onnx",),
        ".growth": ("grow_network",),
        ".network": ("PolicyValueNetwork",),
        ".parameters": ("ExportError", "ParameterFileError", "load_parameters", "save_parameters"),
        ".quantization": ("QuantizationError", "quantize_onnx"),
        ".unfolding": ("load_onnx",),
    },
)
