"""Policy and value networks: shape, parameters, export to ONNX. Needs ``pip install 'fukayomi[train]'``.

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

``export_onnx(network, "network.onnx")`` writes a file for any engine that plays dlshogi's networks; `fukayomi.learning`
trains networks and reads checkpoints.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fukayomi.nn.config import NetworkConfig, NetworkConfigError
    from fukayomi.nn.export import ExportError, export_onnx
    from fukayomi.nn.network import PolicyValueNetwork
    from fukayomi.nn.parameters import ParameterFileError, load_parameters, save_parameters

__all__ = [
    "ExportError",
    "NetworkConfig",
    "NetworkConfigError",
    "ParameterFileError",
    "PolicyValueNetwork",
    "export_onnx",
    "load_parameters",
    "save_parameters",
]

# Where each public name is defined: imported on first use (PEP 562). Keep it in step with the imports above.
_MODULE_OF = {
    "ExportError": "export", "NetworkConfig": "config", "NetworkConfigError": "config",
    "ParameterFileError": "parameters", "PolicyValueNetwork": "network", "export_onnx": "export",
    "load_parameters": "parameters", "save_parameters": "parameters",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'fukayomi.nn' has no attribute {name!r}")
    value = getattr(import_module(f"fukayomi.nn.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
