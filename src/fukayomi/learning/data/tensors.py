"""Batches as torch tensors, as networks of either family read them, and a dataset for torch's DataLoader."""

# pyright: reportUnknownMemberType=false

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import Dataset as TorchDatasetBase

from fukayomi._native import FEATURES1, FEATURES2, NO_POLICY_LABEL, sparse_planes_batch
from fukayomi.learning.data.batch import Batch
from fukayomi.learning.data.dataset import Dataset
from fukayomi.learning.loss import HeadTargets, MoveLists, SoftPolicy, Targets
from fukayomi.nn.sparse import SparseNetwork, SparsePositions


@dataclass(frozen=True)
class TensorBatch:
    """A `Batch` as tensors on one device, for a network.

    Residual networks read planes, and have logits of all labels; for a comparison only those of the moves count. Sparse
    networks read rows and the moves of each position, on the CPU, and have logits of those moves alone.
    """

    planes1: Tensor
    """uint8 [N, 628], bit-packed."""
    planes2: Tensor
    """uint8 [N, 8], bit-packed."""
    targets: Targets
    """Policy, result and value, and weights."""
    positions: SparsePositions | None = None
    """Input of a sparse network; None if nothing needs the moves."""

    @classmethod
    def of(
        cls,
        batch: Batch,
        device: torch.device,
        network: nn.Module | None = None,
        *,
        over_moves: bool = False,
        has_policy: bool = True,
    ) -> "TensorBatch":
        """Put a batch on a device.

        Args:
            batch: The positions.
            device: Where the network is.
            network: The network that reads it and is to meet its targets; None: one that reads planes.
            over_moves: Whether the policy's logits and targets are those of each position's moves for all networks.
            has_policy: False if a sparse network is asked for its values alone: no moves are read.

        Raises:
            PackedError: Moves are needed, and the planes are no position that the rules allow.
        """
        found = cls._of_planes(batch, device)
        if not has_policy and isinstance(network, SparseNetwork):
            return replace(found, positions=_read(batch, has_moves=False)[0])
        return found._for_moves(batch, device) if over_moves or isinstance(network, SparseNetwork) else found

    def _for_moves(self, batch: Batch, device: torch.device) -> "TensorBatch":
        """The same with the moves of each position."""
        positions, lists = _read_moves(batch, device)
        return replace(self, targets=replace(self.targets, moves=lists), positions=positions)

    def moves(self) -> tuple[SparsePositions, MoveLists]:
        """The positions for a sparse network, on the CPU, and their moves, which need not have targets.

        Raises:
            PackedError: The planes are no position that the rules allow.
        """
        if self.positions is not None and self.targets.moves is not None and self.planes1.device.type == "cpu":
            return self.positions, self.targets.moves
        batch = Batch.empty(len(self))
        batch.labels[:] = NO_POLICY_LABEL
        batch = replace(batch, planes1=self.planes1.cpu().numpy(), planes2=self.planes2.cpu().numpy())
        return _read_moves(batch, torch.device("cpu"))

    @classmethod
    def _of_planes(cls, batch: Batch, device: torch.device) -> "TensorBatch":
        soft = None
        if not batch.is_one_hot:
            soft = SoftPolicy(_tensor(batch.places, device), _tensor(batch.weights, device))
        heads = None
        if batch.heads is not None:
            heads = HeadTargets(**{name: _tensor(array, device) for name, array in vars(batch.heads).items()})
        return cls(
            _tensor(batch.planes1, device),
            _tensor(batch.planes2, device),
            Targets(
                _tensor(batch.labels.astype(np.int64), device),
                _tensor(batch.results, device),
                _tensor(batch.values, device),
                soft,
                heads,
                None if batch.position_weights is None else _tensor(batch.position_weights, device),
            ),
        )

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.planes1)

    def features(self, constants: int = FEATURES2) -> tuple[Tensor, Tensor]:
        """Network inputs: float32 [N, 62, 9, 9] and [N, constants, 9, 9], channels last.

        Args:
            constants: Constant planes, 57, or 58 with the plane of the colour to move (`NetworkConfig.features2`).
        """
        features1 = unpack_bits(self.planes1, FEATURES1 * 81).view(-1, FEATURES1, 9, 9)
        features2 = unpack_bits(self.planes2, constants).view(-1, constants, 1, 1).expand(-1, -1, 9, 9)
        # Reorder while a square of a plane is still one byte, then widen.
        return (
            features1.contiguous(memory_format=torch.channels_last).float(),
            features2.contiguous(memory_format=torch.channels_last).float(),
        )

    def inputs_for(self, network: nn.Module) -> tuple[Any, ...]:
        """Inputs of the network that the batch is for: `positions`, or planes as `features_for`."""
        return (self.positions,) if isinstance(network, SparseNetwork) else self.features_for(network)

    def outputs_of(self, network: nn.Module) -> tuple[Tensor, Tensor]:
        """Logits of the network that the batch is for: policy, [N, 2187] or of moves, [M], and value, [N, 1]."""
        policy, value = network(*self.inputs_for(network))
        return policy if isinstance(network, SparseNetwork) else self.of_moves(policy), value.view(-1, 1)

    def of_moves(self, policy: Tensor) -> Tensor:
        """The logits [M] of the moves among those of all labels, [N, 2187]; all of these if the targets are theirs."""
        return policy if self.targets.moves is None else policy.flatten()[self.targets.moves.places]

    def features_for(self, network: nn.Module) -> tuple[Tensor, Tensor]:
        """The planes that a network reads: 58 constant ones for one that sees the colour to move, else 57."""
        return self.features(getattr(network, "features2", FEATURES2))


def _read(batch: Batch, *, has_moves: bool) -> tuple[SparsePositions, tuple[NDArray[Any], ...]]:
    """The positions, and of their moves the weights, places and numbers of those played."""
    threads = torch.get_num_threads()
    rows, row_offsets, labels, groups, move_offsets, *of_moves = sparse_planes_batch(
        batch.planes1, batch.planes2, batch.labels, batch.places, batch.weights, threads, has_moves
    )
    return SparsePositions(rows, row_offsets, labels, groups, move_offsets), tuple(of_moves)


def _read_moves(batch: Batch, device: torch.device) -> tuple[SparsePositions, MoveLists]:
    positions, (weights, places, played) = _read(batch, has_moves=True)
    offsets = torch.from_numpy(positions.move_offsets)
    lists = MoveLists(
        offsets.to(device),
        torch.repeat_interleave(torch.arange(len(positions)), offsets.diff()).to(device),
        _tensor(places.astype(np.int64), device),
        _tensor(weights, device),
        _tensor(played, device),
    )
    return positions, lists


def _tensor(array: NDArray[Any], device: torch.device) -> Tensor:
    tensor = torch.from_numpy(array)
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)


def unpack_bits(packed: Tensor, count: int) -> Tensor:
    """The first `count` bits of each row, least significant bit first: uint8 [N, B] to uint8 [N, count]."""
    shifts = torch.arange(8, dtype=torch.uint8, device=packed.device)
    return ((packed.unsqueeze(2) >> shifts) & 1).flatten(1)[:, :count]


class TorchDataset(TorchDatasetBase[dict[str, Tensor]]):
    """A `Dataset` for `torch.utils.data.DataLoader`, whose worker processes open the files for themselves.

    Each item is a dict of float32 tensors, which the DataLoader stacks into batches:

    - "features1" [62, 9, 9] and "features2" [57, 9, 9]: network inputs
    - "policy" [2187]: policy target, which adds up to 1, or to 0 for a row of psv without a move
    - "result" and "value" []: result of the game and win probability of the evaluation, from the side to move
    - "weight" []: how much the position counts in the loss, if a file has weights of positions

        loader = DataLoader(Dataset("train.hcpe").torch(), batch_size=256, shuffle=True, num_workers=2)

    `Dataset.batches` is faster: it moves packed planes, which are a sixtieth of the size.
    """

    def __init__(self, data: Dataset) -> None:
        self.data = data

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.data)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        """One position."""
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Tensor]]:
        """Several positions; the DataLoader asks for a batch at a time."""
        batch = self.data.arrays(indices)
        features1, features2 = batch.features()
        arrays = {
            "features1": features1,
            "features2": features2,
            "policy": batch.policy(),
            "result": batch.results,
            "value": batch.values,
        }
        if batch.position_weights is not None:
            arrays["weight"] = batch.position_weights
        columns = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return [{name: column[row] for name, column in columns.items()} for row in range(len(batch))]
