"""Networks of the same shape as one: the weighted mean of their parameters."""

import math
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fukayomi.errors import InvalidValueError
from fukayomi.learning.data.dataset import Dataset, DatasetLike, as_dataset
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.devices import choose_device
from fukayomi.learning.models import export_network, load_network, network_path, require_kind
from fukayomi.learning.optimization import (
    ESTIMATION_POSITIONS,
    batchnorm_layers,
    estimate_batchnorm,
    estimation_batches,
)
from fukayomi.learning.settings import ModelFileError
from fukayomi.listener import SILENT, Listener
from fukayomi.nn.config import NetworkConfig
from fukayomi.nn.export import Agreement
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import AnyNetwork
from fukayomi.nn.sparse import SparseNetwork
from fukayomi.nn.sparse_config import AnyConfig

ESTIMATION_BATCH = 1024
"""Positions of a batch whose BatchNorm statistics are averaged; fewer where the data has fewer."""


@dataclass(frozen=True)
class NetworkAverage:
    """Result of `average_networks`."""

    path: Path
    """The file written."""
    weights: tuple[float, ...]
    """Share of each network; they add up to 1."""
    estimation_positions: int
    """Positions on which BatchNorm was estimated; 0 for networks without BatchNorm."""
    agreement: Agreement | None
    """How an ONNX file agrees with torch; None for other files."""


def average_networks(
    networks: Sequence[AnyNetwork | Path | str],
    path: Path | str,
    *,
    weights: Sequence[float] | None = None,
    data: DatasetLike | None = None,
    device: str | torch.device = "auto",
    listener: Listener = SILENT,
) -> NetworkAverage:
    """Write the weighted mean of networks to a file, which appears when it is complete.

    A mean is a good network only where its parts are near each other, such as checkpoints of one run, or runs that
    began from one network. BatchNorm's statistics belong to the weights with which they were measured, so they are
    estimated again; the parameters do not depend on the data. The order of the networks does not matter, and the mean
    of equal networks has their very parameters.

        average_networks(["a.pt", "b.pt"], "mean.safetensors", weights=[0.3, 0.7], data="train.hcpe")

    Args:
        networks: Two or more of the same shape, dropout aside: networks of the package in torch, or files that
            `load_network` reads, but for ONNX files. A checkpoint with averaged weights gives those.
        path: File to write, of a kind as for `export_network`.
        weights: Positive, one for each network; they are divided by their sum. None: all equal.
        data: Positions on which BatchNorm is estimated, a `Dataset` or files; the first 100,000 in random order.
            Networks with BatchNorm need them, and sparse networks, which have none, refuse them.
        device: Where BatchNorm is estimated, as in `train`.
        listener: Follows the work.

    Raises:
        InvalidValueError: There are fewer than two networks, a weight is not positive, the data is missing, or not
            needed.
        ModelFileError: A network has another shape than the first, is an ONNX file, or not finite.
        CheckpointError, ParameterFileError, SparseFileError: A file is missing, damaged or something else.
        ExportError: The path is of no kind that the network can be written to, or the mean is not finite.
        DataFileError: A record of the data is damaged.
        DeviceError: There is no such device.
        OSError: The file cannot be written.
    """
    path = Path(path)
    if len(networks) < 2:
        raise InvalidValueError(f"a mean is of two networks or more, not of {len(networks)}")
    shares = _shares(weights, len(networks))
    names = [str(each) if isinstance(each, Path | str) else f"network {n}" for n, each in enumerate(networks, 1)]
    parts = [_loaded(each) for each in networks]
    for name, part in zip(names, parts, strict=True):
        _require_same_shape(name, part.config, names[0], parts[0].config)
        _require_finite(name, part)
    require_kind(parts[0], path)
    mean, positions = _mean(parts, shares), 0
    if not batchnorm_layers(mean):
        if data is not None:
            raise InvalidValueError("networks without BatchNorm have nothing to estimate: leave the data out")
    elif data is None:
        raise InvalidValueError(
            "the networks have BatchNorm, whose statistics the mean needs anew: give training positions to estimate "
            "them on (--data FILE)"
        )
    else:
        positions = _estimate(mean, as_dataset(data), choose_device(device), listener)
    return NetworkAverage(path, tuple(shares), positions, export_network(mean, path))


def _shares(weights: Sequence[float] | None, count: int) -> list[float]:
    """The weights with a sum of 1."""
    given = [1.0] * count if weights is None else [float(weight) for weight in weights]
    if len(given) != count:
        raise InvalidValueError(f"there are {len(given)} weights for {count} networks: give one for each")
    if not all(weight > 0 and math.isfinite(weight) for weight in given) or not math.isfinite(math.fsum(given)):
        raise InvalidValueError(f"weights must be positive numbers, not {', '.join(f'{weight:g}' for weight in given)}")
    total = math.fsum(given)  # does not depend on the order
    return [weight / total for weight in given]


def _loaded(network: AnyNetwork | Path | str) -> AnyNetwork:
    if isinstance(network, PolicyValueNetwork | SparseNetwork):
        return deepcopy(network).cpu().float()
    if not isinstance(network, Path | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValueError(f"a {type(network).__name__} is no network of the package, which alone have a mean")
    if network_path(network).suffix.lower() == ".onnx":
        raise ModelFileError(
            f"{network}: an ONNX file has its BatchNorm folded into other weights, which have no mean with those of "
            "another: give the checkpoint or .safetensors file that it was made from"
        )
    return load_network(network)


def _require_same_shape(name: str, config: AnyConfig, first_name: str, first: AnyConfig) -> None:
    """Raise ModelFileError, with what differs, if a network has another shape than the first one."""
    shape, other = _shape(config), _shape(first)
    differing = [field for field in shape | other if shape.get(field) != other.get(field)]
    if differing:
        described = (
            ", ".join(f"{field} {values[field]}" for field in differing if field in values) for values in (shape, other)
        )
        here, there = described
        raise ModelFileError(
            f"{name} has {here}, and {first_name} {there}: only networks of the same shape have a mean"
        )


def _shape(config: AnyConfig) -> dict[str, Any]:
    if isinstance(config, NetworkConfig):
        return {"family": "residual", **config.changed(dropout=0.0).as_dict()}
    return config.as_dict()


def _require_finite(name: str, network: AnyNetwork) -> None:
    for parameter, tensor in network.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise ModelFileError(
                f"{name}: the parameter {parameter} has values that are not finite; if training diverged, use an "
                "earlier checkpoint"
            )


@torch.no_grad()
def _mean(networks: Sequence[AnyNetwork], shares: Sequence[float]) -> AnyNetwork:
    """The mean of all floating-point values, in evaluation mode; the rest is the first network's.

    Sums are in float64, from the smallest part to the largest, and rounded once.
    """
    mean = deepcopy(networks[0]).eval().requires_grad_(False)
    states = [network.state_dict() for network in networks]
    for name, tensor in mean.state_dict().items():
        if tensor.is_floating_point():
            tensor.copy_(
                _weighted_sum([state[name].double() * share for state, share in zip(states, shares, strict=True)])
            )
    return mean


def _weighted_sum(parts: list[Tensor]) -> Tensor:
    total, *others = torch.stack(parts).sort(dim=0).values
    for other in others:
        total = total + other
    return total


def _estimate(network: AnyNetwork, data: Dataset, device: torch.device, listener: Listener) -> int:
    """Estimate BatchNorm, at most once for each position of the data; returns the number of positions."""
    size = max(1, min(ESTIMATION_BATCH, data.epoch_size))
    most = max(1, data.epoch_size // size)
    batches = estimation_batches(data, size, seed=0, most=most, device=device, network=network)
    network.to(device)
    total = size * min(most, -(-ESTIMATION_POSITIONS // size))
    estimate_batchnorm(network, (batch.inputs_for(network) for batch in _told(batches, total, listener)))
    network.cpu()
    return total


def _told(batches: Iterable[TensorBatch], total: int, listener: Listener) -> Iterator[TensorBatch]:
    done = 0
    for batch in batches:
        yield batch
        done += len(batch)
        listener.progress("estimating BatchNorm", done, total)
