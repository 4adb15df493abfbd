"""Averages of a network's weights along the run, and BatchNorm statistics for them.

dlshogi's "SWA": an exponential average of the weights every 250 steps (Izmailov et al. 2018, arXiv:1803.05407, with old
weights forgotten). Its BatchNorm statistics are estimated again at the end, because those of the run belong to other
weights.
"""

# pyright: reportUnknownMemberType=false

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage] - the class of all of them

from fukayomi.nn.parameters import AnyNetwork

ESTIMATION_POSITIONS = 100_000
"""Positions for which BatchNorm statistics are estimated."""


class AveragedWeights:
    """An exponential average of a network's weights.

    Args:
        network: The network that is trained.
        averages: After each update the average is n / (n + 1) of itself plus 1 / (n + 1) of the weights, with this n.
    """

    def __init__(self, network: AnyNetwork, averages: int) -> None:
        self.network = deepcopy(network).eval().requires_grad_(False)
        """The network with averaged weights."""
        self.count = 0
        """Updates so far."""
        self._weight = 1.0 / (averages + 1)

    @torch.no_grad()
    def update(self, network: AnyNetwork) -> None:
        """Take in the network's present weights; the first ones are copied."""
        weight = self._weight if self.count else 1.0
        state: dict[str, Tensor] = network.state_dict()
        for name, average in self.network.state_dict().items():
            if average.is_floating_point():
                average.lerp_(state[name], weight)
            else:
                average.copy_(state[name])
        self.count += 1


@torch.no_grad()
def estimate_batchnorm(network: nn.Module, inputs: Iterable[tuple[Any, ...]]) -> None:
    """Replace the statistics of all BatchNorm layers by their means over batches.

    Args:
        network: Left in evaluation mode.
        inputs: What the network is called with, for each batch; not read without BatchNorm.
    """
    layers = [module for module in network.modules() if isinstance(module, _BatchNorm)]
    momenta = [layer.momentum for layer in layers]
    network.eval()
    if not layers:
        return
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # the mean of all batches
        layer.train()
    for given in inputs:
        network(*given)
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    network.eval()
