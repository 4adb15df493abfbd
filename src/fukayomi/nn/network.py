"""The policy and value network: a residual tower with dlshogi's stem and heads.

Design choices, from the input up:

- The inputs are dlshogi's 62 + 57 planes, [file][rank], seen from the side to move. The stem is the sum of a 3x3 and a
  1x1 convolution of the 62 planes and a 1x1 convolution of the 57 constant planes (where a 3x3 kernel would see
  nothing more), normalised once after the sum.
- The trunk is made of post-activation blocks (conv, BN, act, conv, BN, add, act; He et al. 2015, arXiv:1512.03385), as
  in AlphaGo Zero. BatchNorm folds into the convolutions at export: a block costs two convolutions and one addition.
- The second BatchNorm of a block starts at gamma 0 (Goyal et al. 2017, arXiv:1706.02677, section 5.1): every block is
  the identity at first, and high learning rates are safe from the first step.
- The policy head is a 1x1 convolution to 27 directions, flattened to 27 * 81 labels, plus a bias for each label:
  convolutions treat all squares alike, the bias depends on the target square.
- The value head is a 1x1 convolution to 27 channels, BN, act, a hidden layer, and one logit. Its hidden layer is the
  only large dense matrix (2187 * value_hidden): with dlshogi's 256 it is half of a small network, where 64 is enough.
- Outputs are logits in float32. The softmax over legal moves belongs to the search, the sigmoid to the exported file.
"""

import torch
from torch import Tensor, nn

from fukayomi.nn.config import FEATURES1, FEATURES2, LABELS, Activation, NetworkConfig

POLICY_DIRECTIONS = 27
VALUE_CHANNELS = 27
SQUARES = 81


def activation_layer(activation: Activation) -> nn.Module:
    """The activation with this name as a module."""
    return nn.ReLU(inplace=True) if activation == "relu" else nn.SiLU(inplace=True)


class Stem(nn.Module):
    """Both groups of input planes to [N, C, 9, 9]."""

    def __init__(self, channels: int, activation: Activation) -> None:
        super().__init__()
        self.conv1_3x3 = nn.Conv2d(FEATURES1, channels, 3, padding=1, bias=False)
        self.conv1_1x1 = nn.Conv2d(FEATURES1, channels, 1, bias=False)
        self.conv2_1x1 = nn.Conv2d(FEATURES2, channels, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.act = activation_layer(activation)

    def forward(self, features1: Tensor, features2: Tensor) -> Tensor:
        x = self.conv1_3x3(features1) + self.conv1_1x1(features1) + self.conv2_1x1(features2)
        return self.act(self.norm(x))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions beside the identity: [N, C, 9, 9] to the same shape."""

    def __init__(self, channels: int, activation: Activation) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.act1 = activation_layer(activation)
        self.act2 = activation_layer(activation)
        nn.init.zeros_(self.norm2.weight)

    def forward(self, x: Tensor) -> Tensor:
        y = self.act1(self.norm1(self.conv1(x)))
        return self.act2(self.norm2(self.conv2(y)) + x)


class PolicyHead(nn.Module):
    """[N, C, 9, 9] to policy logits [N, 2187], label = direction * 81 + square."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, POLICY_DIRECTIONS, 1, bias=False)
        self.bias = nn.Parameter(torch.zeros(LABELS))

    def forward(self, x: Tensor) -> Tensor:
        return torch.flatten(self.conv(x), 1).float() + self.bias


class ValueHead(nn.Module):
    """[N, C, 9, 9] to the logit of the side to move's win probability [N, 1]."""

    def __init__(self, channels: int, hidden: int, activation: Activation) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, VALUE_CHANNELS, 1, bias=False)
        self.norm = nn.BatchNorm2d(VALUE_CHANNELS)
        self.act1 = activation_layer(activation)
        self.fc1 = nn.Linear(VALUE_CHANNELS * SQUARES, hidden)
        self.act2 = activation_layer(activation)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.act1(self.norm(self.conv(x)))
        return self.fc2(self.act2(self.fc1(torch.flatten(y, 1)))).float()


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
        self.stem = Stem(config.channels, config.activation)
        self.blocks = nn.Sequential(*(ResidualBlock(config.channels, config.activation) for _ in range(config.blocks)))
        self.policy = PolicyHead(config.channels)
        self.value = ValueHead(config.channels, config.value_hidden, config.activation)
        # Convolutions are fastest in this layout, which the parameters keep.
        self.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] - missing in torch's annotations

    def residual_blocks(self) -> list[ResidualBlock]:
        """The blocks of the trunk, from the stem up."""
        return [block for block in self.blocks if isinstance(block, ResidualBlock)]

    def forward(self, features1: Tensor, features2: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of policy [N, 2187] and value [N, 1] from planes [N, 62, 9, 9] and [N, 57, 9, 9], all float."""
        x = self.blocks(self.stem(features1, features2))
        return self.policy(x), self.value(x)
