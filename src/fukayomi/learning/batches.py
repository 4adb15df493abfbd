"""Batches of training positions: records and games of files to bit-packed planes to floats on the device.

A position travels as 636 bytes (628 + 8 of bit-packed planes), not as 38 KB of floats: the native core decodes
positions to packed planes, a thread does so ahead of the training loop, and torch unpacks the bits where the network
lives.

The order is a function of (seed, epoch) alone and a batch a function of (order, step), so that training can be resumed
at any step and sees the very batches that an uninterrupted run would have seen.
"""

# pyright: reportUnknownMemberType=false

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fukayomi.learning.loss import SoftPolicy
from fukayomi.learning.positions import DEFAULT_TARGETS, PositionFiles, TargetSettings, TrainingDataError

FEATURES1 = 62
FEATURES2 = 57
PREFETCHED_BATCHES = 4


@dataclass(frozen=True)
class Batch:
    """Positions with targets; all values and results are seen from the side to move.

    Attributes:
        planes1: uint8 [N, 628], bit-packed.
        planes2: uint8 [N, 8], bit-packed.
        labels: int64 [N], the policy label of the move played; of hcpe3 and avg, of the one with the most visits.
        results: float32 [N], 1 won, 0.5 drawn, 0 lost.
        values: float32 [N], the search's evaluation as a win probability.
        soft: The shares of the candidates, if some position has more than one; None: the labels are all there is.
    """

    planes1: Tensor
    planes2: Tensor
    labels: Tensor
    results: Tensor
    values: Tensor
    soft: SoftPolicy | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        if device.type == "cpu":
            return self
        fields = (self.planes1, self.planes2, self.labels, self.results, self.values)
        moved = (field.pin_memory().to(device, non_blocking=True) for field in fields)
        return Batch(*moved, soft=self.soft.to(device) if self.soft else None)

    def features(self) -> tuple[Tensor, Tensor]:
        """Input planes as float32, [N, 62, 9, 9] and [N, 57, 9, 9], channels last."""
        features1 = unpack_bits(self.planes1, FEATURES1 * 81).view(-1, FEATURES1, 9, 9)
        features2 = unpack_bits(self.planes2, FEATURES2).view(-1, FEATURES2, 1, 1).expand(-1, -1, 9, 9)
        # Reorder while a plane's square is still one byte, then widen.
        return (
            features1.contiguous(memory_format=torch.channels_last).float(),
            features2.contiguous(memory_format=torch.channels_last).float(),
        )


def unpack_bits(packed: Tensor, count: int) -> Tensor:
    """The first `count` bits of each row, least significant bit first: uint8 [N, B] to uint8 [N, count]."""
    shifts = torch.arange(8, dtype=torch.uint8, device=packed.device)
    return ((packed.unsqueeze(2) >> shifts) & 1).flatten(1)[:, :count]


def decode_batch(files: PositionFiles, indices: NDArray[np.int64], targets: TargetSettings = DEFAULT_TARGETS) -> Batch:
    """The positions of these numbers as a batch, those of hcpe before those of hcpe3, and these before those of avg.

    Raises:
        TrainingDataError: a record holds no legal position or no possible move; names the file and the record.
    """
    found = files.decode(indices, targets)
    one_hot = len(found.places) == len(indices)
    return Batch(
        torch.from_numpy(found.planes1),
        torch.from_numpy(found.planes2),
        torch.from_numpy(found.labels.astype(np.int64)),
        torch.from_numpy(found.results),
        torch.from_numpy(found.values),
        None if one_hot else SoftPolicy(torch.from_numpy(found.places), torch.from_numpy(found.weights)),
    )


def epoch_order(count: int, seed: int, epoch: int) -> NDArray[np.unsignedinteger[Any]]:
    """The order in which an epoch visits `count` positions: 4 bytes each, or 8 from 4 billion on."""
    order = np.arange(count, dtype=np.uint32 if count < 1 << 32 else np.uint64)
    np.random.default_rng([seed, epoch]).shuffle(order)  # the same order for both types
    return order


def training_batches(
    files: PositionFiles,
    batch_size: int,
    seed: int,
    start_step: int,
    steps: int,
    targets: TargetSettings = DEFAULT_TARGETS,
) -> Iterator[Batch]:
    """The batches of steps start_step .. steps - 1, shuffled anew each epoch, whose last partial batch is left out.

    Raises:
        TrainingDataError: fewer positions than a batch, or a record that does not decode.
    """
    steps_per_epoch = len(files) // batch_size
    if steps_per_epoch == 0:
        raise TrainingDataError(f"{files.paths[0]}: {len(files)} positions are fewer than one batch of {batch_size}")

    def produce() -> Iterator[Batch]:
        epoch, order = -1, epoch_order(0, seed, 0)
        for step in range(start_step, steps):
            if step // steps_per_epoch != epoch:
                epoch = step // steps_per_epoch
                order = epoch_order(len(files), seed, epoch)
            first = step % steps_per_epoch * batch_size
            yield decode_batch(files, order[first : first + batch_size].astype(np.int64), targets)

    return prefetch(produce)


def evaluation_batches(
    files: PositionFiles, batch_size: int, sample: int | None = None, targets: TargetSettings = DEFAULT_TARGETS
) -> Iterator[Batch]:
    """Every position once, in order; or an evenly spread sample of that many records."""
    count = len(files)
    sample = min(sample or count, count)
    indices = np.linspace(0, count - 1, sample).round().astype(np.int64)

    def produce() -> Iterator[Batch]:
        for first in range(0, len(indices), batch_size):
            yield decode_batch(files, indices[first : first + batch_size], targets)

    return prefetch(produce)


def prefetch(produce: Callable[[], Iterator[Batch]], depth: int = PREFETCHED_BATCHES) -> Iterator[Batch]:
    """Run a producer in a thread, at most `depth` batches ahead; its exceptions are raised here."""
    ready: queue.Queue[Batch | BaseException | None] = queue.Queue(depth)
    closed = threading.Event()

    def put(item: Batch | BaseException | None) -> None:
        while not closed.is_set():
            try:
                return ready.put(item, timeout=0.2)
            except queue.Full:
                continue

    def work() -> None:
        try:
            for batch in produce():
                put(batch)
                if closed.is_set():
                    return
            put(None)
        except Exception as error:  # handed over to the consumer, who raises it
            put(error)

    thread = threading.Thread(target=work, name="batches", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        closed.set()
        thread.join()
