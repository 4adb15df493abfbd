"""Arithmetic on convolutions: BatchNorm put into the one before it, and sums of several as one.

All of it is done in float64 and rounded once.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - the usual name
from torch import Tensor, nn


@dataclass(frozen=True)
class Taps:
    """The weights of a convolution in float64."""

    kernel: Tensor
    """[out, in, height, width], both odd; the centre is the square that is computed."""
    bias: Tensor | None
    """[out]; None: zero."""

    @classmethod
    def of(cls, conv: nn.Conv2d) -> "Taps":
        """Those of a convolution."""
        return cls(conv.weight.detach().double(), None if conv.bias is None else conv.bias.detach().double())

    def __add__(self, other: "Taps") -> "Taps":
        """Both on the same input, their outputs added; one of the kernels must be at least as large as the other."""
        small, large = sorted((self, other), key=lambda taps: taps.kernel.numel())
        kernel = large.kernel + _centred(small.kernel, large.kernel)
        bias = other.bias if self.bias is None else self.bias if other.bias is None else self.bias + other.bias
        return Taps(kernel, bias)

    def normalised(self, norm: nn.BatchNorm2d, *, shifted: bool = True) -> "Taps":
        """With BatchNorm in evaluation mode after it, x * scale + shift per channel.

        Args:
            norm: The BatchNorm.
            shifted: False where another summand has the shift.
        """
        assert norm.running_mean is not None
        assert norm.running_var is not None
        scale = norm.weight.detach().double() / torch.sqrt(norm.running_var.double() + norm.eps)
        bias = None if self.bias is None else self.bias * scale
        if shifted:
            shift = norm.bias.detach().double() - norm.running_mean.double() * scale
            bias = shift if bias is None else bias + shift
        return Taps(self.kernel * scale.view(-1, 1, 1, 1), bias)

    def padded(self, planes: int) -> "Taps":
        """With so many further input planes, which it does not look at."""
        return Taps(F.pad(self.kernel, (0, 0, 0, 0, 0, planes)), self.bias)

    def convolution(self) -> nn.Conv2d:
        """The convolution, rounded to float32."""
        out_channels, in_channels, height, width = self.kernel.shape
        padding = (height // 2, width // 2)
        conv = nn.Conv2d(in_channels, out_channels, (height, width), padding=padding, bias=self.bias is not None)
        with torch.no_grad():
            conv.weight.copy_(self.kernel)
            if conv.bias is not None and self.bias is not None:
                conv.bias.copy_(self.bias)
        return conv


def fold(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> nn.Conv2d:
    """A convolution with the BatchNorm that follows it."""
    return Taps.of(conv).normalised(norm).convolution()


def _centred(kernel: Tensor, like: Tensor) -> Tensor:
    """A kernel with zeros around it, as large as another."""
    rows, columns = ((large - small) // 2 for large, small in zip(like.shape[2:], kernel.shape[2:], strict=True))
    return F.pad(kernel, (columns, columns, rows, rows))
