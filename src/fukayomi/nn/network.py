"""The policy and value network: a tower of blocks with dlshogi's stem and heads.

Design choices, from the input up:

- The inputs are dlshogi's 62 + 57 planes, [file][rank], seen from the side to move. The stem is the sum of a 3x3 and a
  1x1 convolution of the 62 planes and a 1x1 convolution of the 57 constant planes (where a 3x3 kernel would see
  nothing more), normalised once after the sum, or each before it.
- The usual block is post-activation (conv, BN, act, conv, BN, add, act; He et al. 2015, arXiv:1512.03385), as in
  AlphaGo Zero. BatchNorm folds into the convolutions at export: a block costs two convolutions and one addition.
- Every n-th block may have large kernels instead, and the last ones may be Transformer blocks, as in TadaoYamaoka's
  networks of 2024; wide residual networks and squeeze-excitation are there for dlshogi's older networks.
- The last BatchNorm of a block starts at gamma 0 (Goyal et al. 2017, arXiv:1706.02677, section 5.1): every block is
  the identity at first, and high learning rates are safe from the first step.
- The policy head is a 1x1 convolution to 27 directions, flattened to 27 * 81 labels, plus a bias for each label:
  convolutions treat all squares alike, the bias depends on the target square.
- The value head is a 1x1 convolution to 27 channels, BN, act, a hidden layer, and one logit. Its hidden layer is the
  only large dense matrix (2187 * value_hidden): with dlshogi's 256 it is half of a small network, where 64 is enough.
- Training may have further heads (`heads.py`), which are made last: policy and value start as they would without them.
- Outputs are logits in float32. The softmax over legal moves belongs to the search, the sigmoid to the exported file.

The parts are in `blocks.py` and `heads.py`.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

from fukayomi.nn.blocks import BLOCKS, Block, Final, Stem
from fukayomi.nn.config import HeadName, NetworkConfig
from fukayomi.nn.heads import PolicyHead, TrainingHeads, ValueHead


class PolicyValueNetwork(nn.Module):
    """Policy and value of a batch of positions.

    Example:
        >>> network = PolicyValueNetwork(NetworkConfig(blocks=2, channels=16, activation="relu", value_hidden=8))
        >>> policy, value = network(torch.zeros(4, 62, 9, 9), torch.zeros(4, 57, 9, 9))
        >>> policy.shape, value.shape
        (torch.Size([4, 2187]), torch.Size([4, 1]))
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.stem = Stem(config)
        self.blocks = nn.Sequential(*(BLOCKS[kind](config) for kind in config.block_kinds()))
        self.final = Final(config) if config.pre_activation else nn.Identity()
        self.policy = PolicyHead(config)
        self.value = ValueHead(config)
        self.heads = TrainingHeads(config)
        # Convolutions are fastest in this layout, which the parameters keep.
        self.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] - missing in torch's annotations

    @property
    def features2(self) -> int:
        """Constant planes that it takes: 57, or 58 with the plane of the colour to move."""
        return self.config.features2

    def residual_blocks(self) -> Sequence[Block]:
        """The blocks of the trunk, from the stem up."""
        return cast("Sequence[Block]", list(self.blocks))

    def forward(self, features1: Tensor, features2: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of policy [N, 2187] and value [N, 1], float32.

        Args:
            features1: Planes [N, 62, 9, 9], float.
            features2: Planes [N, 57, 9, 9], float; 58 with the plane of the colour to move.
        """
        x = self._trunk(features1, features2)
        return self.policy(x), self.value(x)

    def all_outputs(self, features1: Tensor, features2: Tensor) -> tuple[Tensor, Tensor, dict[HeadName, Tensor]]:
        """As `forward`, and the outputs of the heads that only training has, by name."""
        x = self._trunk(features1, features2)
        hidden = self.value.hidden(x)
        return self.policy(x), self.value.logit(hidden), self.heads(x, hidden)

    def _trunk(self, features1: Tensor, features2: Tensor) -> Tensor:
        """Stem and blocks: the planes to [N, C, 9, 9]."""
        return self.final(self.blocks(self.stem(features1, features2)))


@contextmanager
def evaluation_mode(network: nn.Module) -> Generator[None]:
    """Put a network in evaluation mode for a while; afterwards all its modules are in the modes of before."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
