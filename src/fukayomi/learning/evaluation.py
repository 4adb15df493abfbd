"""Evaluation of a network on a test set."""

import torch
from torch import nn

from fukayomi.learning.batches import evaluation_batches
from fukayomi.learning.metrics import Metrics, MetricsSum
from fukayomi.learning.positions import DEFAULT_TARGETS, PositionFiles, TargetSettings

EVALUATION_BATCH = 1024


def evaluate_network(
    network: nn.Module,
    files: PositionFiles,
    device: torch.device,
    val_lambda: float,
    sample: int | None = None,
    batch_size: int = EVALUATION_BATCH,
    targets: TargetSettings = DEFAULT_TARGETS,
) -> Metrics:
    """Metrics of a network over all positions, or an evenly spread sample of them."""
    total = MetricsSum(val_lambda)
    network.eval()
    with torch.inference_mode():
        for batch in evaluation_batches(files, batch_size, sample, targets):
            batch = batch.to(device)
            policy, value = network(*batch.features())
            total.add(policy, value, batch.labels, batch.results, batch.values, batch.soft)
    return total.metrics()
