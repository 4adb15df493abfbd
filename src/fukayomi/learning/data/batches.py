"""The order of training batches, and a thread that prepares them ahead.

The order is a function of seed and epoch, and a batch a function of order and step: a resumed run sees the batches that
it would have seen without the interruption.
"""

import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fukayomi.learning.settings import TrainingError
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.learning.data.batch import Batch
    from fukayomi.learning.data.dataset import Dataset

PREFETCHED_BATCHES = 4
_TURNS = 1  # a third number keeps these seeds apart from those of epochs

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Part:
    """Positions of one file."""

    start: int
    """Number of the first one."""
    count: int
    """Number of positions."""
    weight: float = 1.0
    """Number of times that an epoch visits each."""
    chosen: NDArray[np.unsignedinteger[Any]] | None = None
    """Numbers of those that an epoch visits, counted from the first one of the part; None: all."""

    @property
    def size(self) -> int:
        """Positions that an epoch may visit."""
        return self.count if self.chosen is None else len(self.chosen)

    @property
    def visits(self) -> int:
        """Positions of this part in an epoch."""
        return round(self.size * self.weight)

    def numbers(self, dtype: type[np.unsignedinteger[Any]]) -> NDArray[np.unsignedinteger[Any]]:
        """The numbers of those positions in the dataset, ascending."""
        if self.chosen is None:
            return np.arange(self.start, self.start + self.count, dtype=dtype)
        return self.chosen.astype(dtype) + dtype(self.start)


def epoch_order(parts: Sequence[Part], seed: int, epoch: int) -> NDArray[np.unsignedinteger[Any]]:
    """The positions of an epoch in random order: 4 bytes for each, 8 from 4 billion positions on.

    A part with a broken weight, such as 0.3, is visited in turn: its positions have an order of their own, of which
    each epoch takes what follows on the epoch before.

    Args:
        parts: What the positions are taken from.
        seed: Random seed.
        epoch: Number of the epoch, from 0.
    """
    end = max((part.start + part.count for part in parts), default=0)
    dtype = np.uint32 if end < 1 << 32 else np.uint64
    pieces = [np.empty(0, dtype)]
    for number, part in enumerate(parts):
        copies, rest = divmod(part.visits, part.size) if part.size else (0, 0)
        numbers = part.numbers(dtype)
        pieces += [numbers] * copies
        if rest:
            turns = np.random.default_rng([seed, number, _TURNS]).permutation(part.size)
            pieces.append(numbers[turns.take(np.arange(epoch * rest, (epoch + 1) * rest), mode="wrap")])
    order = np.concatenate(pieces)
    np.random.default_rng([seed, epoch]).shuffle(order)  # the same permutation for both types
    return order


def training_batches(
    data: "Dataset", size: int, *, seed: int, start: int, stop: int, rows: slice = slice(None), heads: bool = False
) -> "Generator[Batch]":
    """The batches of steps start to stop - 1: shuffled anew in each epoch, whose last partial batch is left out.

    Args:
        data: Training positions.
        size: Positions per batch.
        seed: Random seed; the same seed gives the same batches.
        start: The first step, from 0.
        stop: The step after the last one.
        rows: Rows of each batch to decode; by default all.
        heads: Add the targets of further heads.

    Raises:
        TrainingError: There are fewer positions than one batch.
        DataFileError: A record is damaged.
    """
    per_epoch = data.epoch_size // size
    if per_epoch == 0:
        weightless = f" ({len(data)} with those of weight 0)" if data.weightless else ""
        raise TrainingError(
            f"{data.paths[0]}: {counted(data.epoch_size, 'position')}{weightless}, fewer than one batch of {size}"
        )

    def produce() -> "Iterator[Batch]":
        epoch, order = -1, epoch_order((), seed, 0)
        for step in range(start, stop):
            if step // per_epoch != epoch:
                epoch = step // per_epoch
                order = data.epoch_order(seed, epoch)
            first = step % per_epoch * size
            yield data.arrays(order[first : first + size][rows], heads=heads)

    return prefetch(produce())


def prefetch(items: Iterator[_Item], depth: int = PREFETCHED_BATCHES) -> Generator[_Item]:
    """Run an iterator in a thread, at most `depth` items ahead; its exceptions are raised here."""
    ready: queue.Queue[tuple[_Item | None, BaseException | None]] = queue.Queue(depth)
    closed = threading.Event()

    def put(item: _Item | None, error: BaseException | None = None) -> None:
        while not closed.is_set():
            try:
                return ready.put((item, error), timeout=0.2)
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(item)
                if closed.is_set():
                    return
            put(None)
        except Exception as error:  # raised again by the consumer
            put(None, error)

    thread = threading.Thread(target=work, name="batches", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item
    finally:
        closed.set()
        thread.join()
