"""Evaluation of a network on a test set."""

import torch
from torch import nn

from fukayomi.learning.batches import PositionFiles, evaluation_batches
from fukayomi.learning.metrics import Metrics, MetricsSum

EVALUATION_BATCH = 1024


def evaluate_network(
    network: nn.Module,
    files: PositionFiles,
    device: torch.device,
    val_lambda: float,
    sample: int | None = None,
    batch_size: int = EVALUATION_BATCH,
) -> Metrics:
    """Metrics of a network over all positions, or an evenly spread sample of them."""
    total = MetricsSum(val_lambda)
    network.eval()
    with torch.inference_mode():
        for batch in evaluation_batches(files, batch_size, sample):
            batch = batch.to(device)
            policy, value = network(*batch.features())
            total.add(policy, value, batch.labels, batch.results, batch.values)
    return total.metrics()
