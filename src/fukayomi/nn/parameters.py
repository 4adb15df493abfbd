"""Parameter files: safetensors that carry the network's configuration in their metadata."""

# pyright: reportUnknownMemberType=false

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast, overload

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save  # pyright: ignore[reportUnknownVariableType]
from torch import Tensor

from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import problem_of
from fukayomi.nn.blocks import BLOCKS
from fukayomi.nn.config import NetworkConfig, NetworkConfigError
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.sparse import SparseNetwork
from fukayomi.nn.sparse_config import AnyConfig, SparseConfig, config_from_dict

FORMAT = "fukayomi-network-1"

AnyNetwork = PolicyValueNetwork | SparseNetwork
"""A network of any family."""


class ParameterFileError(InvalidValueError):
    """A file does not hold a network's parameters, or is damaged."""

    __module__ = "fukayomi.nn"


class ExportError(InvalidValueError):
    """A network cannot be exported, or the exported file does not agree with it."""

    __module__ = "fukayomi.nn"


def require_finite(parameters: Mapping[str, Tensor]) -> None:
    """Raise ExportError if a network has a parameter with NaN or infinity: no engine can play with it."""
    for name, tensor in parameters.items():
        if not torch.isfinite(tensor).all():
            raise ExportError(
                f"the parameter {name} has values that are not finite; nothing is written. If training diverged, use "
                "an earlier checkpoint"
            )


def save_parameters(network: AnyNetwork, path: Path | str) -> None:
    """Write parameters and configuration as safetensors; an existing file is replaced once the new one is complete.

    Raises:
        ExportError: A parameter is not finite.
        OSError: The file cannot be written.
    """
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    require_finite(tensors)
    metadata = {"format": FORMAT, "config": json.dumps(network.config.as_dict())}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    replace_file(Path(path), save(tensors, metadata))


def load_parameters(path: Path | str) -> AnyNetwork:
    """The network of a file that `save_parameters` wrote, on the CPU, in evaluation mode.

    Raises:
        ParameterFileError: The file is missing, damaged, or something else.
    """
    path = Path(path)
    if (problem := problem_of(path)) is not None:
        raise ParameterFileError(f"{path}: {problem}")
    try:
        with cast("Any", safe_open(path, framework="pt")) as file:  # it has no annotations
            metadata: dict[str, str] = file.metadata() or {}
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except SafetensorError as error:
        raise ParameterFileError(f"{path}: not a safetensors file, or damaged ({error})") from error
    if metadata.get("format") != FORMAT:
        raise ParameterFileError(f"{path}: the metadata's format is {metadata.get('format')!r}, not {FORMAT!r}")
    try:
        return build_network(config_from_dict(json.loads(metadata.get("config", ""))), tensors)
    except ValueError as error:
        raise ParameterFileError(f"{path}: {error}") from error


def make_network(config: AnyConfig) -> AnyNetwork:
    """A new network of this shape, with random weights."""
    return SparseNetwork(config) if isinstance(config, SparseConfig) else PolicyValueNetwork(config)


@overload
def build_network(config: NetworkConfig, tensors: object) -> PolicyValueNetwork: ...
@overload
def build_network(config: AnyConfig, tensors: object) -> AnyNetwork: ...
def build_network(config: AnyConfig, tensors: object) -> AnyNetwork:
    """A network with the parameters of a file, in evaluation mode. They are compared before memory is taken for it.

    Raises:
        NetworkConfigError: The tensors are not those of such a network.
    """
    expected = parameter_shapes(config)
    given = cast("dict[Any, Any]", tensors) if isinstance(tensors, dict) else {}
    for name in sorted(expected.keys() | set(map(str, given))):
        tensor = given.get(name)
        shape = tuple(tensor.shape) if isinstance(tensor, Tensor) else None
        if name not in expected or shape != expected[name]:
            raise NetworkConfigError(
                f"the parameters are not those of {config}: {name} is {shape}, not {expected.get(name)}"
            )
    network = make_network(config)
    try:
        network.load_state_dict(given)
    except (RuntimeError, TypeError) as error:  # sparse tensors, for example
        raise NetworkConfigError(f"the parameters are not those of {config}: {error}") from error
    return network.eval()


def parameter_shapes(config: AnyConfig) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a network's parameters. One block of each kind is enough to know them."""
    if isinstance(config, SparseConfig):
        with torch.device("meta"):
            return {name: tuple(tensor.shape) for name, tensor in SparseNetwork(config).state_dict().items()}
    kinds = config.block_kinds()
    with torch.device("meta"):
        small = PolicyValueNetwork(config.changed(blocks=1, large_kernel_interval=0, transformer_blocks=0))
        blocks = {kind: BLOCKS[kind](config).state_dict() for kind in set(kinds)}
    shapes = {
        name: tuple(tensor.shape) for name, tensor in small.state_dict().items() if not name.startswith("blocks.")
    }
    for number, kind in enumerate(kinds):
        shapes |= {f"blocks.{number}.{name}": tuple(tensor.shape) for name, tensor in blocks[kind].items()}
    return shapes
