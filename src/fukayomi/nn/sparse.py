"""The sparse policy and value network: made for CPUs, where a tower of convolutions is slow.

Design choices, from the input up:

- A position is some two hundred rows of a large table (`native/sparse/features.hpp`): each square with what stands
  there and how often both sides attack it, hands, who attacks what, and both kings' neighbourhoods. Their sum is the
  first layer, as in NNUE (Yu Nasu 2018); unlike there it is made anew for each position, since a tree search jumps.
- The board is seen by the side to move, with its king on files 1 to 5.
- Rows of squares are sums of a row of content and attacks, one of content and square, and one of their own, so that
  what is rare is learned from what is like it. `table` adds them up; a file has the sums.
- Policy and value have accumulators of their own. They are clipped to 0 to 1, and each is multiplied by another: half
  as many numbers, with the curvature that a hidden layer would cost.
- A move's logit is the product of the policy's numbers with a row of its label, and of the first ones with the sum of
  eight rows of the move itself: what captures what, exchanges, kings, threats, neighbours. A label that looks like a
  bad exchange has another row.
- The value's numbers pass two small layers; a value of each row is added.
- Tables lie in blocks of 32 columns, as the native forward and backward want them (`native/sparse/training.hpp`).
"""

from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fukayomi import _native
from fukayomi._native import MOVE_ROWS, SPARSE_LABELS, SPARSE_ROWS
from fukayomi.nn.config import HeadName
from fukayomi.nn.sparse_config import SparseConfig

BLOCK = 32
"""Columns of a table that lie together."""
CONTENTS, ATTACKS, SQUARES = 29, 9, 81
SQUARE_ROWS = CONTENTS * ATTACKS * SQUARES


@dataclass(frozen=True, slots=True)
class SparsePositions:
    """N positions with K rows and M moves, as `_native.sparse_batch` reads them."""

    rows: NDArray[np.uint16]
    """[K]."""
    row_offsets: NDArray[np.int64]
    """[N + 1]: position n has rows[row_offsets[n] : row_offsets[n + 1]]."""
    labels: NDArray[np.uint16]
    """[M]."""
    groups: NDArray[np.uint16]
    """[M, 8]."""
    move_offsets: NDArray[np.int64]
    """[N + 1]: position n has the moves from move_offsets[n] to move_offsets[n + 1]."""

    def __len__(self) -> int:
        return len(self.row_offsets) - 1


class Accumulators(nn.Module):
    """The first layer of one head: of each position the sum of its rows, clipped to 0 to 1, half of it times the other.

    Args:
        count: Accumulators, a multiple of 64.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        blocks = count // BLOCK
        self.squares = nn.Parameter(torch.zeros(blocks, CONTENTS, ATTACKS, SQUARES, BLOCK))
        self.attacked_contents = nn.Parameter(torch.randn(blocks, CONTENTS, ATTACKS, 1, BLOCK) * 0.05)
        self.placed_contents = nn.Parameter(torch.randn(blocks, CONTENTS, 1, SQUARES, BLOCK) * 0.05)
        self.others = nn.Parameter(torch.randn(blocks, SPARSE_ROWS - SQUARE_ROWS, BLOCK) * 0.03)
        self.bias = nn.Parameter(torch.full((count,), 0.3))

    def table(self) -> Tensor:
        """The rows, [count / 32, SPARSE_ROWS, 32]."""
        squares = self.squares + self.attacked_contents + self.placed_contents
        return torch.cat([squares.flatten(1, 3), self.others], dim=1)

    def forward(self, positions: SparsePositions) -> Tensor:
        """The products, [N, count / 2]."""
        parts = (self.squares, self.attacked_contents, self.placed_contents, self.others, self.bias)
        return cast("Tensor", _FirstLayer.apply(*parts, positions))  # pyright: ignore[reportUnknownMemberType]


class SparseNetwork(nn.Module):
    """Policy and value of a batch of positions, by sparse inputs.

    Example:
        >>> import numpy as np
        >>> from fukayomi import Position
        >>> from fukayomi._native import encode_hcp, sparse_batch
        >>> hcps = np.frombuffer(encode_hcp(Position()), np.uint8).reshape(1, 32)
        >>> none = np.empty(0, np.uint16)
        >>> *read, shares = sparse_batch(hcps, np.zeros(2, np.int64), none, none, 1)
        >>> network = SparseNetwork(SparseConfig(policy=64, value=64, shared=32))
        >>> policy, value = network(SparsePositions(*read))
        >>> policy.shape, value.shape
        (torch.Size([30]), torch.Size([1]))
    """

    def __init__(self, config: SparseConfig) -> None:
        super().__init__()
        self.config = config
        self.policy_accumulators = Accumulators(config.policy)
        self.value_accumulators = Accumulators(config.value)
        self.label_table = nn.Parameter(torch.zeros(config.policy // 2 // BLOCK, SPARSE_LABELS, BLOCK))
        self.label_bias = nn.Parameter(torch.zeros(SPARSE_LABELS))
        self.group_table = nn.Parameter(torch.zeros(config.shared // BLOCK, MOVE_ROWS, BLOCK))
        self.group_bias = nn.Parameter(torch.zeros(MOVE_ROWS))
        self.value_layer1 = nn.Linear(config.value // 2, config.hidden)
        self.value_layer2 = nn.Linear(config.hidden, config.hidden)
        self.value_layer3 = nn.Linear(config.hidden, 1)
        self.value_rows = nn.Parameter(torch.zeros(1, SPARSE_ROWS, BLOCK))

    def table(self) -> Tensor:
        """The rows of both heads, [(policy + value) / 32, SPARSE_ROWS, 32]."""
        return torch.cat([self.policy_accumulators.table(), self.value_accumulators.table()])

    def forward(self, positions: SparsePositions) -> tuple[Tensor, Tensor]:
        """Logits of all moves, [M], and of the value, [N]."""
        tables = (self.label_table, self.label_bias, self.group_table, self.group_bias)
        numbers = self.policy_accumulators(positions)
        logits = cast("Tensor", _MoveLogits.apply(*tables, numbers, positions))  # pyright: ignore[reportUnknownMemberType]
        return logits, self.values(positions)

    def values(self, positions: SparsePositions) -> Tensor:
        """Logits of the value alone, [N]."""
        inner = torch.relu(self.value_layer1(self.value_accumulators(positions)))
        inner = torch.relu(self.value_layer2(inner))
        weights = self.value_rows.sum(dim=(0, 2))
        skipped = cast("Tensor", _SumWeights.apply(weights, positions))  # pyright: ignore[reportUnknownMemberType]
        return self.value_layer3(inner).squeeze(1) + skipped

    def all_outputs(self, positions: SparsePositions) -> tuple[Tensor, Tensor, dict[HeadName, Tensor]]:
        """As those of `PolicyValueNetwork`: logits of all moves, [M], and of the value, [N, 1]; no further heads."""
        policy, value = self(positions)
        return policy, value.unsqueeze(1), {}


def _arrays(*tensors: Tensor) -> list[NDArray[np.float32]]:
    """The memory of tensors; that of a copy for one that is not contiguous."""
    return [cast("NDArray[np.float32]", tensor.detach().contiguous().numpy()) for tensor in tensors]


def _recycled(*shape: int) -> Tensor:
    """Uninitialised, in memory that is not new: that of the last step, since it is free again."""
    return torch.from_numpy(_native.recycled_floats(prod(shape))).view(shape)  # pyright: ignore[reportUnknownMemberType]


class _FirstLayer(torch.autograd.Function):
    """The products of accumulators, [N, count / 2]."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        parts: tuple[Tensor, ...] = arguments[:5]  # squares, attacked, placed, others, bias
        positions: SparsePositions = arguments[5]
        columns, count = len(parts[4]), len(positions)
        accumulators = _recycled(columns // BLOCK, count, BLOCK)
        products = torch.empty(count, columns // 2)
        _native.first_layer(
            positions.rows,
            positions.row_offsets,
            *_arrays(*parts, accumulators, products),
            threads=torch.get_num_threads(),
        )
        ctx.positions, ctx.shapes = positions, [part.shape for part in parts]
        ctx.save_for_backward(accumulators)
        return products

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        positions: SparsePositions = ctx.positions
        found = [_recycled(*shape) for shape in ctx.shapes]
        _native.first_layer_backward(
            positions.rows,
            positions.row_offsets,
            *_arrays(*ctx.saved_tensors, *gradients, *found),
            threads=torch.get_num_threads(),
        )
        return (*found, None)


class _SumWeights(torch.autograd.Function):
    """The sum of the weights of each position's rows, [N]."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, positions: SparsePositions) -> Tensor:
        out = torch.empty(len(positions))
        _native.sum_weights(positions.rows, positions.row_offsets, *_arrays(weights, out))
        ctx.positions, ctx.shape = positions, weights.shape
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        found = torch.empty(ctx.shape)
        positions: SparsePositions = ctx.positions
        _native.sum_weights_backward(positions.rows, positions.row_offsets, *_arrays(*gradients, found))
        return found, None


class _MoveLogits(torch.autograd.Function):
    """The logits of all moves, [M]."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        saved: tuple[Tensor, ...] = arguments[:5]  # tables and biases of labels and groups, hidden
        positions: SparsePositions = arguments[5]
        logits = torch.empty(len(positions.labels))
        _native.move_logits(
            positions.labels,
            positions.groups,
            positions.move_offsets,
            *_arrays(*saved, logits),
            threads=torch.get_num_threads(),
        )
        ctx.positions = positions
        ctx.save_for_backward(*saved)
        return logits

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        saved: tuple[Tensor, ...] = ctx.saved_tensors
        found = [*(torch.zeros_like(table) for table in saved[:4]), torch.empty_like(saved[4])]
        positions: SparsePositions = ctx.positions
        _native.move_logits_backward(
            positions.labels,
            positions.groups,
            positions.move_offsets,
            *_arrays(*saved, *gradients, *found),
            threads=torch.get_num_threads(),
        )
        return (*found, None)
