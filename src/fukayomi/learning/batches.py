"""Batches of training positions: memory-mapped hcpe files to bit-packed planes to floats on the device.

A position travels as 636 bytes (628 + 8 of bit-packed planes), not as 38 KB of floats: the native core decodes records
to packed planes, a thread does so ahead of the training loop, and torch unpacks the bits where the network lives.

The order is a function of (seed, epoch) alone and a batch a function of (order, step), so that training can be resumed
at any step and sees the very batches that an uninterrupted run would have seen.
"""

# pyright: reportUnknownMemberType=false

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fukayomi import _native

RECORD_BYTES = 38
PACKED1_BYTES = 628
PACKED2_BYTES = 8
FEATURES1 = 62
FEATURES2 = 57
PREFETCHED_BATCHES = 4


class TrainingDataError(ValueError):
    """A file of training positions that cannot be used."""


class PositionFiles:
    """One or more hcpe files, memory-mapped, read as one array of records."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self._maps = [_map_records(path) for path in paths]
        self._starts = np.cumsum([0] + [len(records) for records in self._maps])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def records(self, indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The records of these numbers, [N, 38], in this order."""
        out = np.empty((len(indices), RECORD_BYTES), np.uint8)
        for records, start in zip(self._maps, self._starts, strict=False):
            mine = (indices >= start) & (indices < start + len(records))
            out[mine] = records[indices[mine] - start]
        return out

    def place(self, index: int) -> str:
        """File and record number of a record, for error messages."""
        file = int(np.searchsorted(self._starts, index, side="right")) - 1
        number = index - int(self._starts[file])
        return f"{self.paths[file]}, record {number} (byte {number * RECORD_BYTES})"


def _map_records(path: Path) -> NDArray[np.uint8]:
    if not path.is_file():
        raise TrainingDataError(f"{path}: no such file")
    size = path.stat().st_size
    if size == 0:
        raise TrainingDataError(f"{path}: the file is empty")
    if size % RECORD_BYTES:
        raise TrainingDataError(
            f"{path}: {size} bytes are no whole number of hcpe records of {RECORD_BYTES} bytes; "
            f"{size % RECORD_BYTES} bytes are left over after record {size // RECORD_BYTES - 1}"
        )
    return np.memmap(path, np.uint8, mode="r").reshape(-1, RECORD_BYTES)


@dataclass(frozen=True)
class Batch:
    """Positions with targets; all values and results are seen from the side to move.

    Attributes:
        planes1: uint8 [N, 628], bit-packed.
        planes2: uint8 [N, 8], bit-packed.
        labels: int64 [N], the policy label of the move played.
        results: float32 [N], 1 won, 0.5 drawn, 0 lost.
        values: float32 [N], the search's evaluation as a win probability.
    """

    planes1: Tensor
    planes2: Tensor
    labels: Tensor
    results: Tensor
    values: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        if device.type == "cpu":
            return self
        fields = (self.planes1, self.planes2, self.labels, self.results, self.values)
        return Batch(*(field.pin_memory().to(device, non_blocking=True) for field in fields))

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


def decode_batch(files: PositionFiles, indices: NDArray[np.int64]) -> Batch:
    """The records of these numbers as a batch.

    Raises:
        TrainingDataError: a record holds no legal position or no possible move; names the file and the record.
    """
    n = len(indices)
    planes1 = np.empty((n, PACKED1_BYTES), np.uint8)
    planes2 = np.empty((n, PACKED2_BYTES), np.uint8)
    labels = np.empty(n, np.uint16)
    results = np.empty(n, np.float32)
    values = np.empty(n, np.float32)
    records = files.records(indices)
    try:
        _native.decode_hcpe(records, planes1, planes2, labels, results, values)
    except ValueError as error:
        raise TrainingDataError(_locate(files, indices, records, error)) from error
    return Batch(
        torch.from_numpy(planes1),
        torch.from_numpy(planes2),
        torch.from_numpy(labels.astype(np.int64)),
        torch.from_numpy(results),
        torch.from_numpy(values),
    )


def _locate(files: PositionFiles, indices: NDArray[np.int64], records: NDArray[np.uint8], error: ValueError) -> str:
    """The message for the first record that does not decode on its own."""
    for row, index in enumerate(indices):
        one = (np.empty((1, PACKED1_BYTES), np.uint8), np.empty((1, PACKED2_BYTES), np.uint8))
        targets = (np.empty(1, np.uint16), np.empty(1, np.float32), np.empty(1, np.float32))
        try:
            _native.decode_hcpe(records[row : row + 1], *one, *targets)
        except ValueError as alone:
            return f"{files.place(int(index))}: {alone}"
    return f"{files.paths[0]}: {error}"


def epoch_order(count: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """The order in which an epoch visits `count` records."""
    return np.random.default_rng([seed, epoch]).permutation(count)


def training_batches(files: PositionFiles, batch_size: int, seed: int, start_step: int, steps: int) -> Iterator[Batch]:
    """The batches of steps start_step .. steps - 1, shuffled anew each epoch, whose last partial batch is left out.

    Raises:
        TrainingDataError: fewer records than a batch, or a record that does not decode.
    """
    steps_per_epoch = len(files) // batch_size
    if steps_per_epoch == 0:
        raise TrainingDataError(f"{files.paths[0]}: {len(files)} positions are fewer than one batch of {batch_size}")

    def produce() -> Iterator[Batch]:
        epoch, order = -1, np.empty(0, np.int64)
        for step in range(start_step, steps):
            if step // steps_per_epoch != epoch:
                epoch = step // steps_per_epoch
                order = epoch_order(len(files), seed, epoch)
            first = step % steps_per_epoch * batch_size
            yield decode_batch(files, order[first : first + batch_size])

    return prefetch(produce)


def evaluation_batches(files: PositionFiles, batch_size: int, sample: int | None = None) -> Iterator[Batch]:
    """Every record once, in order; or an evenly spread sample of that many records."""
    count = len(files)
    sample = min(sample or count, count)
    indices = np.linspace(0, count - 1, sample).round().astype(np.int64)

    def produce() -> Iterator[Batch]:
        for first in range(0, len(indices), batch_size):
            yield decode_batch(files, indices[first : first + batch_size])

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
