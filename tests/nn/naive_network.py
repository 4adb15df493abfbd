"""What a network computes, written down a second time: NumPy, float64, square by square where that is plainest.

It reads parameters by their names and knows nothing of the classes that it checks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi.nn.config import NetworkConfig

Array = NDArray[np.float64]


@dataclass
class Naive:
    """A network as its parameters."""

    config: NetworkConfig
    parameters: Mapping[str, Array]

    def __call__(self, features1: Array, features2: Array) -> tuple[Array, Array]:
        """Policy [2187] and win probability of one position, [62, 9, 9] and [57 or 58, 9, 9]."""
        x = self.trunk(features1, features2)
        return self.policy("policy", x), 1 / (1 + np.exp(-self.matrix("value.fc2", self.hidden(x))))

    def heads(self, features1: Array, features2: Array) -> dict[str, Array]:
        """Outputs of the heads that only training has."""
        x = self.trunk(features1, features2)
        hidden = self.hidden(x)
        return {
            name: self.policy(key, x) if f"{key}.conv.weight" in self.parameters else self.matrix(key, hidden)
            for name in self.config.heads
            for key in [f"heads.{name.replace('-', '_')}"]
        }

    def trunk(self, features1: Array, features2: Array) -> Array:
        x = self.stem(features1, features2)
        for number, kind in enumerate(self.config.block_kinds()):
            x = self.block(f"blocks.{number}", kind, x)
        return self.act(self.norm("final.norm", x)) if self.config.pre_activation else x

    def policy(self, name: str, x: Array) -> Array:
        return self.conv(f"{name}.conv", x).ravel() + self.parameters[f"{name}.bias"]

    def hidden(self, x: Array) -> Array:
        y = self.act(self.norm("value.norm", self.conv("value.conv", x))).ravel()
        return self.act(self.matrix("value.fc1", y))

    def matrix(self, name: str, x: Array) -> Array:
        return self.parameters[f"{name}.weight"] @ x + self.parameters[f"{name}.bias"]

    def stem(self, features1: Array, features2: Array) -> Array:
        parts = [("1_3x3", features1), ("1_1x1", features1), ("2_1x1", features2)]
        outputs = [(name, self.conv(f"stem.conv{name}", planes)) for name, planes in parts]
        if self.config.stem == "branches":
            return self.act(sum(self.norm(f"stem.norm{name}", output) for name, output in outputs))
        x = sum(output for _, output in outputs)
        return x if self.config.pre_activation else self.act(self.norm("stem.norm", x))

    def block(self, name: str, kind: str, x: Array) -> Array:
        conv: Callable[[str, Array], Array] = lambda part, y: self.conv(f"{name}.{part}", y)  # noqa: E731
        norm: Callable[[str, Array], Array] = lambda part, y: self.norm(f"{name}.{part}", y)  # noqa: E731
        if kind == "pre-activation":
            y = conv("conv1", self.act(norm("norm1", x)))
            return x + conv("conv2", self.act(norm("norm2", y)))
        if kind == "large-kernel":
            return self.act(x + norm("norm", conv("rank", x) + conv("file", x) + conv("point", x)))
        if kind == "transformer":
            x = x + norm("norm1", conv("projection", self.act(self.attention(name, x))))
            return x + norm("norm2", conv("fc2", self.act(conv("fc1", x))))
        y = norm("norm2", conv("conv2", self.act(norm("norm1", conv("conv1", x)))))
        if self.config.squeeze:
            y = self.act(y)
            inner = self.act(conv("se.1.fc1", y.mean((1, 2), keepdims=True)))
            y = y / (1 + np.exp(-conv("se.1.fc2", inner)))
        return self.act(x + y)

    def attention(self, name: str, x: Array) -> Array:
        channels, heads = self.config.channels, self.config.attention_heads
        query, key, value = np.split(self.conv(f"{name}.qkv", x).reshape(3 * channels, 81), 3)
        out = np.zeros((channels, 81))
        width = channels // heads
        for head in range(heads):
            rows = slice(head * width, (head + 1) * width)
            for square in range(81):
                scores = query[rows, square] @ key[rows] / np.sqrt(width)
                weights = np.exp(scores - scores.max())
                out[rows, square] = value[rows] @ (weights / weights.sum())
        return out.reshape(channels, 9, 9)

    def act(self, x: Array) -> Array:
        return np.maximum(x, 0) if self.config.activation == "relu" else x / (1 + np.exp(-x))

    def norm(self, name: str, x: Array) -> Array:
        mean, var, weight, bias = (
            self.parameters[f"{name}.{part}"][:, None, None]
            for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / np.sqrt(var + (2e-5 if self.config.pre_activation else 1e-5)) * weight + bias

    def conv(self, name: str, x: Array) -> Array:
        kernel = self.parameters[f"{name}.weight"]
        height, width = kernel.shape[2:]
        edge = np.pad(x, ((0, 0), (height // 2,) * 2, (width // 2,) * 2))
        out = np.zeros((len(kernel), *x.shape[1:]))
        for row in range(x.shape[1]):
            for column in range(x.shape[2]):
                seen = edge[:, row : row + height, column : column + width]
                out[:, row, column] = np.einsum("ochw,chw->o", kernel, seen)
        return out + self.parameters.get(f"{name}.bias", np.zeros(1)).reshape(-1, 1, 1)
