"""Policy and value networks: shape, parameters, export to ONNX. Needs ``pip install 'fukayomi[train]'``.

    import torch
    from fukayomi.nn import NetworkConfig, PolicyValueNetwork, export_onnx, load_parameters, save_parameters

    network = PolicyValueNetwork(NetworkConfig(blocks=5, channels=64, activation="relu"))
    policy, value = network(torch.zeros(1, 62, 9, 9), torch.zeros(1, 57, 9, 9))  # logits [1, 2187] and [1, 1]

    save_parameters(network, "network.safetensors")
    export_onnx(load_parameters("network.safetensors"), "network.onnx")  # for any engine that plays dlshogi's networks

`fukayomi.learning` trains networks and reads checkpoints.
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

_MODULES = {
    "ExportError": "export",
    "NetworkConfig": "config",
    "NetworkConfigError": "config",
    "ParameterFileError": "parameters",
    "PolicyValueNetwork": "network",
    "export_onnx": "export",
    "load_parameters": "parameters",
    "save_parameters": "parameters",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
