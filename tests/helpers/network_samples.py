"""Small networks that are not at their start, and planes to show them."""

import torch
from torch import Tensor, nn

from fukayomi.nn.config import FEATURES2, Activation, HeadName, NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.sparse import SparseConfig, SparseNetwork

HEADS: tuple[HeadName, ...] = ("soft-policy", "short-term-value", "wdl", "plies-left", "reply")
"""All heads that only training has."""
SHAPES = {
    "residual": NetworkConfig(blocks=2, channels=16, activation="relu", value_hidden=8),
    "residual, silu": NetworkConfig(blocks=2, channels=16, activation="silu", value_hidden=8),
    "pre-activation": NetworkConfig(blocks=2, channels=16, activation="relu", value_hidden=8, pre_activation=True),
    "squeeze-excitation": NetworkConfig(blocks=2, channels=16, activation="silu", value_hidden=8, squeeze=4),
    "large kernels": NetworkConfig(blocks=2, channels=16, activation="relu", value_hidden=8, large_kernel_interval=2),
    "Transformer": NetworkConfig(
        blocks=2, channels=16, activation="silu", value_hidden=8, transformer_blocks=1, head_width=4
    ),
    "all but pre-activation": NetworkConfig(
        blocks=3,
        channels=16,
        activation="relu",
        value_hidden=8,
        squeeze=2,
        large_kernel_interval=2,
        transformer_blocks=1,
        head_width=8,
        stem="branches",
        colour_plane=True,
        dropout=0.5,
        heads=HEADS,
    ),
}
"""A network of each kind."""


def shaken_network(activation: Activation, channels: int = 16) -> PolicyValueNetwork:
    """Two residual blocks, in evaluation mode, whose BatchNorms are far from the identity."""
    return shaken(NetworkConfig(blocks=2, channels=channels, activation=activation, value_hidden=8))


def shaken(config: NetworkConfig) -> PolicyValueNetwork:
    """A network in evaluation mode whose BatchNorms are far from the identity."""
    torch.manual_seed(5)
    network = PolicyValueNetwork(config)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias)
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2.0)
    nn.init.normal_(network.policy.bias)
    return network.eval()


def shaken_sparse(config: SparseConfig, spread: float = 0.05) -> SparseNetwork:
    """A sparse network whose parameters are all other than at its start."""
    torch.manual_seed(3)
    network = SparseNetwork(config)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter) * spread)
    return network


def random_features(count: int, seed: int = 0, planes2: int = FEATURES2) -> tuple[Tensor, Tensor]:
    """Planes of zeros and ones, about as full as real ones: [count, 62, 9, 9] and [count, planes2, 9, 9]."""
    generator = torch.Generator().manual_seed(seed)
    features1 = (torch.rand(count, 62, 9, 9, generator=generator) < 0.05).float()
    features2 = (torch.rand(count, planes2, 1, 1, generator=generator) < 0.1).float()
    return features1, features2.expand(-1, -1, 9, 9).contiguous()
