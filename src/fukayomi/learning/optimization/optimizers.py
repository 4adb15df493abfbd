"""The optimiser of a run."""

from typing import Any

import torch
from torch import nn

from fukayomi.learning.optimization.muon import Muon
from fukayomi.learning.settings import TrainingSettings
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import AnyNetwork
from fukayomi.nn.sparse import SparseNetwork

SPARSE_BETAS = (0.9, 0.99)
"""AdamW's for sparse networks: most rows are rare, and their squares must not be remembered for thousands of steps."""


def make_optimizer(network: AnyNetwork, settings: TrainingSettings) -> torch.optim.Optimizer:
    """SGD with Nesterov momentum, AdamW, or Muon for the kernels and matrices of the blocks beside AdamW.

    Weight decay is for matrices and convolutions only.
    """
    by_muon = set[int]()
    if settings.optimizer == "muon" and isinstance(network, PolicyValueNetwork):
        by_muon = {id(p) for p in network.blocks.parameters()}
    matrices, kernels, others = list[nn.Parameter](), list[nn.Parameter](), list[nn.Parameter]()
    for parameter in network.parameters():
        if parameter.requires_grad:
            kind = others if parameter.ndim <= 1 else kernels if id(parameter) in by_muon else matrices
            kind.append(parameter)
    groups: list[dict[str, Any]] = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    if settings.optimizer == "muon":
        groups.append({"params": kernels, "weight_decay": settings.weight_decay, "muon": True})
        return Muon(groups, settings.lr)
    if settings.optimizer == "adamw" and isinstance(network, SparseNetwork):
        return torch.optim.AdamW(groups, lr=settings.lr, betas=SPARSE_BETAS, fused=True)
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=settings.lr)
    return torch.optim.SGD(groups, lr=settings.lr, momentum=0.9, nesterov=True)
