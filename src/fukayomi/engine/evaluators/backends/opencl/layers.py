"""A network as a list of layers, each one or a few kernels: what OpenCL computes.

A value is a map of rows x 81 squares, or a list of rows numbers for each position. A list of a map's numbers is the map
itself: both are ``[numbers][positions]`` in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]


class Activation(IntEnum):
    """Function that a layer applies last. The numbers are those of ``common.cl``."""

    NONE = 0
    RELU = 1
    SILU = 2
    SIGMOID = 3


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What a layer reads or writes; two of the same shape are two values."""

    rows: int
    """Channels of a map, or numbers of a list."""
    squares: int
    """81, or 1 for a list."""

    @property
    def numbers(self) -> int:
        """Numbers for each position."""
        return self.rows * self.squares


@dataclass(frozen=True, slots=True, eq=False)
class Convolution:
    """A convolution of a map, or a dense layer of a list; zeros lie beyond the board's edge."""

    source: Value
    out: Value
    weights: Floats
    """[K, C, h, w] with h x w of 1x1, 3x3, 9x1 or 1x9."""
    bias: Floats
    """[K]"""
    activation: Activation
    residual: Value | None = None
    """Added before the activation."""


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """Each channel times a factor, plus a shift."""

    source: Value
    out: Value
    scale: Floats
    """[C]"""
    shift: Floats
    """[C]"""
    activation: Activation


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """The sum of two values."""

    source: Value
    residual: Value
    out: Value
    activation: Activation


@dataclass(frozen=True, slots=True, eq=False)
class Mean:
    """The mean of each channel over the board."""

    source: Value
    out: Value


@dataclass(frozen=True, slots=True, eq=False)
class Excitation:
    """Each channel times a factor of the position."""

    source: Value
    factors: Value
    out: Value
    activation: Activation
    residual: Value | None = None
    """Added before the activation."""


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """Attention over the 81 squares; the map of the source is queries, keys and values of all heads."""

    source: Value
    """3 * C channels."""
    out: Value
    heads: int
    activation: Activation


Layer: TypeAlias = Convolution | Affine | Sum | Mean | Excitation | Attention


@dataclass(frozen=True, slots=True)
class Layers:
    """A network with dlshogi's inputs and heads."""

    input1: Value
    """Map of 62 planes."""
    input2: Value
    """Map of 57 planes, or 58 with that of the colour to move."""
    layers: Sequence[Layer]
    """In the order in which they are computed."""
    policy: Value
    """Map of 27 channels: the logits without their bias."""
    policy_bias: Floats
    """[2187]"""
    value: Value
    """List of one number, the win probability."""


def sources(layer: Layer) -> list[Value]:
    """What a layer reads."""
    found = [layer.source]
    if isinstance(layer, Excitation):
        found.append(layer.factors)
    residual = getattr(layer, "residual", None)
    return found if residual is None else [*found, residual]
