"""The parts of a network: stem and blocks of several kinds; `heads.py` has what follows them.

A block maps [N, C, 9, 9] to the same shape. Its `fold` puts each BatchNorm into the convolution before it, in place, so
that the block computes the same in evaluation mode and no longer needs the BatchNorm; `FoldedNetwork` calls it.
"""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor, nn

from fukayomi.nn.config import FEATURES1, Activation, BlockKind, NetworkConfig
from fukayomi.nn.fusing import Taps, fold

SQUARES = 81
LARGE = 9
"""Length of a large kernel: a whole file or rank."""
WIDENING = 4
"""Width of a Transformer block's feed-forward layer, in widths of the block."""


def activation_layer(activation: Activation, *, inplace: bool = True) -> nn.Module:
    """The activation with this name as a module."""
    return nn.ReLU(inplace=inplace) if activation == "relu" else nn.SiLU(inplace=inplace)


def norm_layer(channels: int, config: NetworkConfig) -> nn.BatchNorm2d:
    """BatchNorm; dlshogi's pre-activation networks have another epsilon than its others."""
    return nn.BatchNorm2d(channels, eps=2e-5 if config.pre_activation else 1e-5)


def dropout_layer(config: NetworkConfig) -> nn.Module:
    """Dropout, or nothing."""
    return nn.Dropout(config.dropout) if config.dropout else nn.Identity()


def conv3x3(into: int, out: int) -> nn.Conv2d:
    """A 3x3 convolution without bias."""
    return nn.Conv2d(into, out, 3, padding=1, bias=False)


def conv1x1(into: int, out: int, *, bias: bool = False) -> nn.Conv2d:
    """A 1x1 convolution, which treats every square alike."""
    return nn.Conv2d(into, out, 1, bias=bias)


class Stem(nn.Module):
    """Both groups of input planes to [N, C, 9, 9].

    The BatchNorm is after the sum of the convolutions or on each of them; before pre-activation blocks there is none.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.conv1_3x3 = conv3x3(FEATURES1, config.channels)
        self.conv1_1x1 = conv1x1(FEATURES1, config.channels)
        self.conv2_1x1 = conv1x1(config.features2, config.channels)
        self.has_branches = config.stem == "branches"
        if self.has_branches:
            self.norm1_3x3 = norm_layer(config.channels, config)
            self.norm1_1x1 = norm_layer(config.channels, config)
            self.norm2_1x1 = norm_layer(config.channels, config)
        self.norm = nn.Identity() if self.has_branches or config.pre_activation else norm_layer(config.channels, config)
        self.act = nn.Identity() if config.pre_activation else activation_layer(config.activation)

    def forward(self, features1: Tensor, features2: Tensor) -> Tensor:
        x1, x2, x3 = self.conv1_3x3(features1), self.conv1_1x1(features1), self.conv2_1x1(features2)
        if self.has_branches:
            x1, x2, x3 = self.norm1_3x3(x1), self.norm1_1x1(x2), self.norm2_1x1(x3)
        return self.act(self.norm(x1 + x2 + x3))

    def folded(self) -> tuple[Taps, Taps]:
        """One convolution of each group of planes, whose outputs are added and activated."""
        wide, point, constant = (Taps.of(conv) for conv in (self.conv1_3x3, self.conv1_1x1, self.conv2_1x1))
        if self.has_branches:
            wide, point = wide.normalised(self.norm1_3x3), point.normalised(self.norm1_1x1)
            return wide + point, constant.normalised(self.norm2_1x1)
        if isinstance(self.norm, nn.BatchNorm2d):
            return (wide + point).normalised(self.norm), constant.normalised(self.norm, shifted=False)
        return wide + point, constant


class SqueezeExcitation(nn.Module):
    """Each channel times a factor from 0 to 1, which depends on the means of all channels (Hu et al. 2018)."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        inner = max(1, config.channels // config.squeeze)
        self.fc1 = conv1x1(config.channels, inner, bias=True)
        self.act = activation_layer(config.activation)
        self.fc2 = conv1x1(inner, config.channels, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        factor = self.fc2(self.act(self.fc1(x.mean((2, 3), keepdim=True))))
        return x * torch.sigmoid(factor)


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions beside the identity: conv, BN, act, conv, BN, add, act.

    With squeeze-excitation there is, as in dlshogi's senet, an activation before it too.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.conv1 = conv3x3(config.channels, config.channels)
        self.norm1 = norm_layer(config.channels, config)
        self.conv2 = conv3x3(config.channels, config.channels)
        self.norm2 = norm_layer(config.channels, config)
        self.act1 = activation_layer(config.activation)
        self.act2 = activation_layer(config.activation)
        self.dropout = dropout_layer(config)
        if config.squeeze:
            self.se = nn.Sequential(activation_layer(config.activation), SqueezeExcitation(config))
        else:
            self.se = nn.Identity()
            nn.init.zeros_(self.norm2.weight)  # with the further activation, ReLU would never let it grow

    def forward(self, x: Tensor) -> Tensor:
        y = self.dropout(self.act1(self.norm1(self.conv1(x))))
        return self.act2(self.se(self.norm2(self.conv2(y))) + x)

    def fold(self) -> None:
        """Put the BatchNorms into the convolutions."""
        fold_into(self, "conv1", "norm1")
        fold_into(self, "conv2", "norm2")


class PreActivationBlock(nn.Module):
    """As a residual block, in another order: BN, act, conv, BN, act, conv, add (He et al. 2016, arXiv:1603.05027)."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.norm1 = norm_layer(config.channels, config)
        self.act1 = activation_layer(config.activation)
        self.conv1 = conv3x3(config.channels, config.channels)
        self.norm2 = norm_layer(config.channels, config)
        self.act2 = activation_layer(config.activation)
        self.dropout = dropout_layer(config)
        self.conv2 = conv3x3(config.channels, config.channels)

    def forward(self, x: Tensor) -> Tensor:
        y = self.act2(self.norm2(self.conv1(self.act1(self.norm1(x)))))
        return self.conv2(self.dropout(y)) + x

    def fold(self) -> None:
        """Put the second BatchNorm into the convolution before it; the first has none."""
        fold_into(self, "conv1", "norm2")


class LargeKernelBlock(nn.Module):
    """Parallel 1x9, 9x1 and 1x1 convolutions beside the identity: a square sees along its file and its rank.

    It costs about as much as a residual block, 19 multiplications instead of 18 for each pair of channels, and 18 when
    it is folded.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        channels, half = config.channels, LARGE // 2
        self.rank = nn.Conv2d(channels, channels, (LARGE, 1), padding=(half, 0), bias=False)
        self.file = nn.Conv2d(channels, channels, (1, LARGE), padding=(0, half), bias=False)
        self.point: nn.Module | None = conv1x1(channels, channels)
        norm = norm_layer(channels, config)
        nn.init.zeros_(norm.weight)
        self.norm: nn.Module = norm
        self.act = activation_layer(config.activation)

    def forward(self, x: Tensor) -> Tensor:
        y = self.rank(x) + self.file(x)
        if self.point is not None:
            y = y + self.point(x)
        return self.act(self.norm(y) + x)

    def fold(self) -> None:
        """Put the 1x1 convolution into the centre of another, and the BatchNorm into both."""
        assert isinstance(self.point, nn.Conv2d)
        assert isinstance(self.norm, nn.BatchNorm2d)
        rank, file, point = (Taps.of(conv) for conv in (self.rank, self.file, self.point))
        self.rank = (rank + point).normalised(self.norm).convolution()
        self.file = file.normalised(self.norm, shifted=False).convolution()
        self.point, self.norm = None, nn.Identity()


class TransformerBlock(nn.Module):
    """Self-attention over the 81 squares, then a feed-forward layer, each beside the identity.

    As in TadaoYamaoka's networks of 2024 (after LeViT, arXiv:2104.01136): an activation before the output projection
    and a BatchNorm after it, and no positional encoding, since without pooling the channels know their squares.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        channels = config.channels
        self.heads = config.attention_heads
        self.qkv = conv1x1(channels, 3 * channels)
        self.act1 = activation_layer(config.activation, inplace=False)  # attention's gradient needs its output
        self.projection = conv1x1(channels, channels)
        self.norm1 = norm_layer(channels, config)
        self.fc1 = conv1x1(channels, WIDENING * channels, bias=True)
        self.act2 = activation_layer(config.activation)
        self.dropout = dropout_layer(config)
        self.fc2 = conv1x1(WIDENING * channels, channels)
        self.norm2 = norm_layer(channels, config)
        nn.init.zeros_(self.norm1.weight)
        nn.init.zeros_(self.norm2.weight)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.norm1(self.projection(self.act1(self.attention(x))))
        y = self.act2(self.fc1(x))
        return x + self.norm2(self.fc2(self.dropout(y)))

    def attention(self, x: Tensor) -> Tensor:
        """Values that each square gathers from all squares: [N, C, 9, 9] to the same shape."""
        channels = x.shape[1]
        parts: Tensor = self.qkv(x).reshape(-1, 3, self.heads, channels // self.heads, SQUARES).transpose(3, 4)
        query, key, value = parts.unbind(1)  # each [N, heads, 81, C / heads]
        gathered: Tensor = F.scaled_dot_product_attention(query, key, value)
        return gathered.transpose(2, 3).reshape(-1, channels, 9, 9)

    def fold(self) -> None:
        """Put the BatchNorms into the convolutions."""
        fold_into(self, "projection", "norm1")
        fold_into(self, "fc2", "norm2")


Block = ResidualBlock | PreActivationBlock | LargeKernelBlock | TransformerBlock

BLOCKS: dict[BlockKind, type[Block]] = {
    "residual": ResidualBlock,
    "pre-activation": PreActivationBlock,
    "large-kernel": LargeKernelBlock,
    "transformer": TransformerBlock,
}


class Final(nn.Module):
    """Layers after the last pre-activation block: BN, act."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.norm = norm_layer(config.channels, config)
        self.act = activation_layer(config.activation)

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.norm(x))


def fold_into(module: nn.Module, conv: str, norm: str) -> None:
    """Put one BatchNorm of a module into one of its convolutions."""
    parts: dict[str, Any] = {name: getattr(module, name) for name in (conv, norm)}
    setattr(module, conv, fold(parts[conv], parts[norm]))
    setattr(module, norm, nn.Identity())
