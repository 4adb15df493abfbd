"""The products of matrices of a network: what is tuned for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fukayomi.engine.evaluators.backends.opencl.layers import Convolution, Layers

MOST_CASES = 3
"""Shapes that a section measures: those that take the most time."""


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """A convolution or dense layer, as a product of matrices."""

    kernel: int
    """3: 3x3 convolutions, by Winograd's algorithm; 1: everything else."""
    inputs: int
    """Depth of the product: channels, or nine times as many for 9x1 and 1x9."""
    outputs: int
    """Rows of the product."""
    squares: int = 81
    """81, or 1 for dense layers."""

    @property
    def work(self) -> int:
        """Multiplications for each position, but for a factor that all of a kernel share."""
        return self.inputs * self.outputs * self.squares


@dataclass(frozen=True, slots=True)
class Shapes:
    """Shapes of a network."""

    counts: tuple[tuple[Shape, int], ...]
    """Each shape, and how many layers have it."""

    @classmethod
    def of_layers(cls, layers: Layers) -> "Shapes":
        """The shapes of a network."""
        counts: Counter[Shape] = Counter()
        for layer in layers.layers:
            if isinstance(layer, Convolution):
                kernel = 3 if layer.weights.shape[2:] == (3, 3) else 1
                inputs = layer.source.rows if kernel == 3 else layer.weights[0].size
                counts[Shape(kernel, inputs, layer.out.rows, layer.out.squares)] += 1
        return cls(tuple(sorted(counts.items())))

    @property
    def channels(self) -> int:
        """The most usual number of channels."""
        found: Counter[int] = Counter()
        for shape, count in self.counts:
            if shape.squares > 1:
                found[shape.outputs] += count * (2 if shape.kernel == 3 else 1)
        return found.most_common(1)[0][0] if found else 0

    def cases(self, kernel: int) -> Sequence[tuple[Shape, float]]:
        """The shapes of a kernel that take the most time, with their shares of the layers, which add up to 1."""
        found = [(shape, count) for shape, count in self.counts if shape.kernel == kernel]
        heaviest = sorted(found, key=lambda each: -each[0].work * each[1])[:MOST_CASES]
        total = sum(count for _, count in heaviest)
        return [(shape, count / total) for shape, count in heaviest]
