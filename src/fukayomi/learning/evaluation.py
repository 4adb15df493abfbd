"""Evaluation of a network on a test set."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from fukayomi.errors import InvalidValueError
from fukayomi.learning.data.batch import Batch, prefetch
from fukayomi.learning.data.dataset import DatasetLike, as_dataset, has_targets
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.devices import DeviceError, choose_device
from fukayomi.learning.loss import head_losses
from fukayomi.learning.metrics import Floats, Metrics, MetricsSum, position_metrics
from fukayomi.learning.scoring import EVALUATION_BATCH, refuse_numbers, require_ranges
from fukayomi.learning.settings import VAL_LAMBDA
from fukayomi.listener import SILENT, Listener
from fukayomi.nn.config import HeadName
from fukayomi.nn.network import PolicyValueNetwork, evaluation_mode
from fukayomi.nn.sparse import SparseNetwork


def evaluate(
    network: nn.Module | Path | str,
    data: DatasetLike,
    *,
    val_lambda: float = VAL_LAMBDA,
    sample: int | None = None,
    batch: int = EVALUATION_BATCH,
    device: str | torch.device | None = None,
    listener: Listener = SILENT,
) -> Metrics:
    """Compare a network's policy and value with the moves and results of a test set.

    Args:
        network: A network in torch, or a file: a checkpoint, .safetensors or .onnx.
        data: The test set, a `Dataset` or files.
        val_lambda: Share of the evaluation in the total loss, 0 to 1.
        sample: Evaluate this many positions, spread evenly over the test set; None: all.
        batch: Positions per batch.
        device: "cpu", "cuda", "cuda:1"; None: where the network is, for a file CUDA if there is one. ONNX files are
            evaluated on the CPU.
        listener: Follows the evaluation.

    Raises:
        ValueError: A number is out of range.
        CheckpointError, ParameterFileError, ModelFileError: The file is missing, damaged or something else, or its
            network gives numbers that are not finite.
        DataFileError: A record of the test set is damaged.
        PackedError: The test set has a position that the rules do not allow.
        DeviceError: There is no such device, or it is not the CPU and the network is a sparse one.
    """
    data = as_dataset(data)
    require_ranges(val_lambda, batch)
    if sample is not None and sample < 1:
        raise InvalidValueError(f"sample must be positive, not {sample}")
    placed, where = place_network(network, device)
    trained = placed if isinstance(placed, PolicyValueNetwork) else None
    heads: list[HeadName] = [name for name in trained.config.heads if has_targets(name, data)] if trained else []
    total = MetricsSum(val_lambda)
    indices = np.linspace(0, len(data) - 1, min(sample or len(data), len(data))).round().astype(np.int64)
    chunks = (indices[first : first + batch] for first in range(0, len(indices), batch))
    with evaluation_mode(placed), torch.inference_mode():
        for arrays in prefetch(data.arrays(chunk, heads=bool(heads)) for chunk in chunks):
            part = TensorBatch.of(arrays, where, placed, over_moves=True)
            targets = replace(part.targets, position_weights=None)  # of training alone
            if trained and heads:
                policy, value, outputs = trained.all_outputs(*part.features_for(placed))
                policy = part.of_moves(policy)
                losses = head_losses({name: outputs[name] for name in heads}, targets)
                total.add_heads(losses, len(part))
            else:
                policy, value = part.outputs_of(placed)
            total.add(policy, value, targets)
            listener.progress("evaluating", total.positions, len(indices))
    metrics = total.metrics()
    if not isinstance(network, nn.Module) and not metrics.is_finite:
        refuse_numbers(network)
    return metrics


def place_network(network: nn.Module | Path | str, device: str | torch.device | None) -> tuple[nn.Module, torch.device]:
    """A network, loaded if it is a file, on its device; arguments and errors as in `evaluate`."""
    if not isinstance(network, nn.Module):
        from fukayomi.learning.models import OnnxNetwork, load_model

        network = load_model(network)
        device = "cpu" if isinstance(network, OnnxNetwork) else device or "auto"
    if isinstance(network, SparseNetwork) and device == "auto":
        device = "cpu"
    if device is None:
        parameter = next(network.parameters(), None)
        device = torch.device("cpu") if parameter is None else parameter.device
    where = choose_device(device)
    if isinstance(network, SparseNetwork) and where.type != "cpu":
        raise DeviceError(f"a sparse network is computed on the CPU, not on {where}: use cpu or auto")
    return network.to(where), where


class TorchScorer:
    """A network in torch, as `fukayomi.learning.scoring.Scorer`.

    Args:
        network, device: As in `evaluate`.
        val_lambda: Share of the search value in the total loss, 0 to 1.
    """

    def __init__(self, network: nn.Module | Path | str, device: str | torch.device | None, val_lambda: float) -> None:
        self._network, self._device = place_network(network, device)
        self._val_lambda = val_lambda

    def scores(self, batch: Batch) -> Floats:
        """The metrics of each position, over its moves."""
        with evaluation_mode(self._network), torch.inference_mode():
            part = TensorBatch.of(batch, self._device, self._network, over_moves=True)
            policy, value = part.outputs_of(self._network)
            return position_metrics(policy, value, part.targets, self._val_lambda).double().cpu().numpy()
