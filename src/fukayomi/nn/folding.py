"""The network for inference: BatchNorm folded into the convolutions, both convolutions of the first input merged.

Folding is done in float64 and rounded once; it changes logits by about 1e-6.

The input planes are padded with zero planes to a multiple of 16. ONNX Runtime's fast CPU layout works in blocks of up
to 16 channels. With 62 and 57 planes the stem stays outside this layout, and so do all residual additions and
activations; with 64 and 64 they are fused into the convolutions (5x64: 1.1 times the positions per second).
"""

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor, nn

from fukayomi.nn.config import FEATURES1, FEATURES2, NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork, activation_layer

CHANNEL_BLOCK = 16
PADDING1 = -FEATURES1 % CHANNEL_BLOCK
PADDING2 = -FEATURES2 % CHANNEL_BLOCK


class FoldedBlock(nn.Module):
    """A residual block without BatchNorm."""

    def __init__(self, conv1: nn.Conv2d, conv2: nn.Conv2d, config: NetworkConfig) -> None:
        super().__init__()
        self.conv1, self.conv2 = conv1, conv2
        self.act1, self.act2 = activation_layer(config.activation), activation_layer(config.activation)

    def forward(self, x: Tensor) -> Tensor:
        return self.act2(self.conv2(self.act1(self.conv1(x))) + x)


class FoldedNetwork(nn.Module):
    """Computes what a `PolicyValueNetwork` in evaluation mode computes, with the value as a probability.

    forward: planes [N, 62, 9, 9] and [N, 57, 9, 9] to policy logits [N, 2187] and win probability [N, 1].
    """

    def __init__(self, network: PolicyValueNetwork) -> None:
        super().__init__()
        config, stem, value = network.config, network.stem, network.value
        kernel = stem.conv1_3x3.weight.detach().double().clone()
        kernel[:, :, 1, 1] += stem.conv1_1x1.weight.detach().double()[:, :, 0, 0]
        scale, shift = _scale_and_shift(stem.norm)
        self.input1 = _convolution(_pad_channels(kernel, PADDING1), scale, shift)
        self.input2 = _convolution(_pad_channels(stem.conv2_1x1.weight.detach().double(), PADDING2), scale, None)
        self.act = activation_layer(config.activation)
        self.blocks = nn.Sequential(
            *(FoldedBlock(_fold(b.conv1, b.norm1), _fold(b.conv2, b.norm2), config) for b in network.residual_blocks())
        )
        self.policy_conv = network.policy.conv
        self.policy_bias = network.policy.bias
        self.value_conv = _fold(value.conv, value.norm)
        self.value_fc1, self.value_fc2 = value.fc1, value.fc2
        self.value_act1, self.value_act2 = activation_layer(config.activation), activation_layer(config.activation)
        self.eval()

    def lower_trunk(self, dtype: torch.dtype) -> None:
        """Compute the trunk in another type. The heads stay float32: a lower one would cost the value its digits."""
        for part in (self.input1, self.input2, self.blocks):
            part.to(dtype)

    def forward(self, input1: Tensor, input2: Tensor) -> tuple[Tensor, Tensor]:
        return self.heads(self.trunk(input1, input2))

    def trunk(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Stem and blocks, which take nearly all the time: the planes to [N, C, 9, 9]."""
        x1 = self.input1(_pad_channels(input1, PADDING1))
        x2 = self.input2(_pad_channels(input2, PADDING2))
        return self.blocks(self.act(x1 + x2))

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Policy logits and win probability of the trunk's output."""
        policy = torch.flatten(self.policy_conv(x), 1) + self.policy_bias
        y = torch.flatten(self.value_act1(self.value_conv(x)), 1)
        return policy, torch.sigmoid(self.value_fc2(self.value_act2(self.value_fc1(y))))


def _pad_channels(x: Tensor, count: int) -> Tensor:
    """Append `count` zero planes: [N, C, H, W] to [N, C + count, H, W]."""
    return F.pad(x, (0, 0, 0, 0, 0, count))


def _scale_and_shift(norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """BatchNorm in evaluation mode is x * scale + shift, per channel; float64."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.weight.detach().double() / torch.sqrt(norm.running_var.double() + norm.eps)
    return scale, norm.bias.detach().double() - norm.running_mean.double() * scale


def _fold(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> nn.Conv2d:
    return _convolution(conv.weight.detach().double(), *_scale_and_shift(norm))


def _convolution(kernel: Tensor, scale: Tensor, bias: Tensor | None) -> nn.Conv2d:
    """The convolution of a kernel scaled per output channel, rounded to float32."""
    out_channels, in_channels, size, _ = kernel.shape
    conv = nn.Conv2d(in_channels, out_channels, size, padding=size // 2, bias=bias is not None)
    with torch.no_grad():
        conv.weight.copy_(kernel * scale.view(-1, 1, 1, 1))
        if conv.bias is not None and bias is not None:
            conv.bias.copy_(bias)
    return conv
