"""Small networks that are not at their start, and planes to show them."""

import torch
from torch import Tensor, nn

from fukayomi.nn.config import Activation, NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork


def shaken_network(activation: Activation, channels: int = 16) -> PolicyValueNetwork:
    """Two blocks, in evaluation mode, whose BatchNorms are far from the identity."""
    torch.manual_seed(5)
    network = PolicyValueNetwork(NetworkConfig(2, channels, activation, 8))
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


def random_features(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Planes of zeros and ones, about as full as real ones: [count, 62, 9, 9] and [count, 57, 9, 9]."""
    generator = torch.Generator().manual_seed(seed)
    features1 = (torch.rand(count, 62, 9, 9, generator=generator) < 0.05).float()
    features2 = (torch.rand(count, 57, 1, 1, generator=generator) < 0.1).float()
    return features1, features2.expand(-1, -1, 9, 9).contiguous()
