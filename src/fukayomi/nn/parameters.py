"""Parameter files: safetensors that carry the network's configuration in their metadata."""

# pyright: reportUnknownMemberType=false

import json
from pathlib import Path
from typing import Any, cast

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file  # pyright: ignore[reportUnknownVariableType]
from torch import Tensor

from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.files import replacing
from fukayomi.nn.network import PolicyValueNetwork

FORMAT = "fukayomi-network-1"


class ParameterFileError(ValueError):
    """A file that holds no parameters of a network of ours, or a damaged one."""


def save_parameters(network: PolicyValueNetwork, path: Path) -> None:
    """Write a network's parameters and configuration; a file of that name is replaced whole or not at all."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    metadata = {"format": FORMAT, "config": json.dumps(network.config.as_dict())}
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata)


def load_parameters(path: Path) -> PolicyValueNetwork:
    """The network of a parameter file, on the CPU, in evaluation mode.

    Raises:
        ParameterFileError: no such file, no safetensors file, not written by `save_parameters`, or damaged.
    """
    if not path.is_file():
        raise ParameterFileError(f"{path}: no such file")
    try:
        with cast("Any", safe_open(path, framework="pt")) as file:  # its annotations say nothing
            metadata: dict[str, str] = file.metadata() or {}
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except SafetensorError as error:
        raise ParameterFileError(f"{path}: not a safetensors file, or a damaged one ({error})") from error
    if metadata.get("format") != FORMAT:
        raise ParameterFileError(f"{path}: the metadata's format is {metadata.get('format')!r}, not {FORMAT!r}")
    network = PolicyValueNetwork(NetworkConfig.from_dict(json.loads(metadata["config"])))
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise ParameterFileError(f"{path}: the parameters do not fit the configuration: {error}") from error
    return network.eval()
