"""The network for inference: BatchNorm folded into the convolutions, both convolutions of the first input merged.

Folding is done in float64 and rounded once; it changes logits by about 1e-6. A BatchNorm without a convolution before
it, as in pre-activation blocks, stays.

The input planes are padded with zero planes to a multiple of 16. ONNX Runtime's fast CPU layout works in blocks of up
to 16 channels. With 62 and 57 planes the stem stays outside this layout, and so do all residual additions and
activations; with 64 and 64 they are fused into the convolutions (5x64: 1.1 times the positions per second).
"""

from copy import deepcopy

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor, nn

from fukayomi.nn.config import FEATURES1
from fukayomi.nn.network import PolicyValueNetwork

CHANNEL_BLOCK = 16


class FoldedNetwork(nn.Module):
    """Computes what a `PolicyValueNetwork` in evaluation mode computes, with the value as a probability.

    forward: planes [N, 62, 9, 9] and [N, 57, 9, 9] to policy logits [N, 2187] and win probability [N, 1]. Heads that
    only training has are left out.
    """

    def __init__(self, network: PolicyValueNetwork) -> None:
        super().__init__()
        network = deepcopy(network).eval()
        self.config = network.config.changed(heads=())
        self._padding = (-FEATURES1 % CHANNEL_BLOCK, -network.config.features2 % CHANNEL_BLOCK)
        squares, constants = network.stem.folded()
        self.input1 = squares.padded(self._padding[0]).convolution()
        self.input2 = constants.padded(self._padding[1]).convolution()
        self.act = network.stem.act
        for block in network.residual_blocks():
            block.fold()
        network.value.fold()
        self.blocks, self.final = network.blocks, network.final
        self.policy, self.value = network.policy, network.value
        self.eval()

    def lower_trunk(self, dtype: torch.dtype) -> None:
        """Compute the trunk in another type. The heads stay float32: a lower one would cost the value its digits."""
        for part in (self.input1, self.input2, self.blocks, self.final):
            part.to(dtype)

    def forward(self, input1: Tensor, input2: Tensor) -> tuple[Tensor, Tensor]:
        return self.heads(self.trunk(input1, input2))

    def trunk(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Stem and blocks, which take nearly all the time: the planes to [N, C, 9, 9]."""
        x1 = self.input1(_pad_channels(input1, self._padding[0]))
        x2 = self.input2(_pad_channels(input2, self._padding[1]))
        return self.final(self.blocks(self.act(x1 + x2)))

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Policy logits and win probability of the trunk's output."""
        return self.policy(x), torch.sigmoid(self.value(x))


def _pad_channels(x: Tensor, count: int) -> Tensor:
    """Append `count` zero planes: [N, C, H, W] to [N, C + count, H, W]."""
    return F.pad(x, (0, 0, 0, 0, 0, count))
